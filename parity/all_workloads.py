"""`python -m parity`: verifies every workload and benchmarks its port.

Compares the five systems with their ports step by step, then times both sides, on all GPUs found or else on two logical
CPU devices; prints a table and writes report.json. Exit status 0: parity everywhere; 1: not; 2: unusable input; 3: all
agrees, but something that matters was not exercised.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from absl import flags

from parity import benchmark, verify
from parity import flags as parity_flags
from parity.processes import child_command
from parity.subcommands import subcommand_list
from workloads.lifted import is_lift_folder
from workloads.selection import registry
from workloads.support import command, environment
from workloads.support.errors import InputError, require

ALL, VERIFY, BENCHMARK = PHASES = ("all", "verify", "benchmark")

flags.DEFINE_enum(
    "phase",
    ALL,
    PHASES,
    "verify; benchmark; all: both, each in a process of its own, since exact runs need settings that benchmarks must "
    "not have.",
)
flags.DEFINE_list("workloads", list(registry.NAMES), "Names of the workloads.")

FLAGS = flags.FLAGS
FLAGS.set_default("json", "report.json")

#: {phase: one JSON result per workload}.
Results = dict[str, list[dict[str, Any]]]


def phase_command(phase: str, path: str) -> list[str]:
    """Returns the command line of a child process that runs one phase with this process's flags.

    Later flags override earlier ones.
    """
    this = child_command.module_command(sys.executable, "parity") + sys.argv[1:]
    return [*this, f"--phase={phase}", f"--json={path}"]


def run_phases() -> Results | int:
    """Runs both phases as child processes.

    Returns:
      {phase: results}; the exit status if a phase refused its input, or the user's own code failed in it.

    Raises:
      InputError: a phase ended without a result.
    """
    results: Results = {}
    with tempfile.TemporaryDirectory() as folder:
        for phase in (VERIFY, BENCHMARK):
            path = os.path.join(folder, phase + ".json")
            child = subprocess.run(phase_command(phase, path), env=child_command.child_environment())
            if child.returncode in (2, command.USER_CODE):
                return child.returncode  # the child has printed why
            if not os.path.exists(path):
                raise InputError(f"phase {phase} ended with status {child.returncode} and no result")
            with open(path, encoding="utf-8") as file:
                results[phase] = json.load(file)
    return results


def run_phase(phase: str) -> list[dict[str, Any]]:
    """Runs one phase over all workloads in this process, printing a line for each; returns the results for `--json`."""
    environment.prepare(exact=phase == VERIFY)
    _adapt_defaults_to_gpus()
    run_one = _verify_workload if phase == VERIFY else _benchmark_workload
    return [run_one(name) for name in FLAGS.workloads]


def _adapt_defaults_to_gpus() -> None:
    """Where there are GPUs: all of them, the write-ups' sizes and a measured tolerance, unless flags say otherwise."""
    import tensorflow as tf

    gpus = len(tf.config.list_physical_devices("GPU"))
    if not gpus or FLAGS.device == "cpu":
        return
    # Identical bits are not promised on GPUs.
    for name, value in {"replicas": gpus, "size": "seed", "tolerance": "auto"}.items():
        if not FLAGS[name].present:
            setattr(FLAGS, name, value)


def _verify_workload(name: str) -> dict[str, Any]:
    from parity.reports.verification_text import verification_verdict
    from parity.verdict import report
    from parity.verdict.compare_programs import compare_programs

    setup = parity_flags.setup_from_flags(exact=True, workload_name=name)
    comparison = compare_programs(setup, None, verify.plan_from_flags())
    _print_line(setup.job.workload.name, verification_verdict(comparison.verification))
    return report.verification_json(setup, comparison, None, None)


def _benchmark_workload(name: str) -> dict[str, Any]:
    result = benchmark.run_benchmark(*benchmark.plan_from_flags(name))
    peak_bytes = benchmark.peak_bytes_if_asked(result, name)
    for line in benchmark.result_lines(result, peak_bytes):
        _print_line(result.setup.job.workload.name, line)
    return benchmark.benchmark_json(result, peak_bytes)


def _print_line(workload_name: str, line: str) -> None:
    print(f"{workload_name:14} {line}", flush=True)


def exit_status(results: Results) -> int:
    """Returns 0 if every workload has parity and was timed, 3 if some parity was not shown, else 1."""
    from parity.comparison.result import Verdict

    if not all("ratio" in entry for entry in results[BENCHMARK]):
        return Verdict.NO_PARITY.exit_status
    statuses = {Verdict(entry["verdict"]).exit_status for entry in results[VERIFY]}
    return 1 if 1 in statuses else max(statuses, default=0)


def has_parity(results: Results) -> bool:
    """Returns whether every workload passed its verification."""
    return all(entry["verdict"] == "parity" for entry in results[VERIFY])


def check_workloads(names: list[str]) -> None:
    """Raises `InputError` unless each name is a built-in workload, a user's `package.module:attribute`, or a lift."""
    allowed = f"allowed: {', '.join(registry.NAMES)}; package.module:attribute; a lift's folder"
    for name in names:
        require(name in registry.NAMES or ":" in name or is_lift_folder(name), "--workloads", name, allowed)


def main() -> int:
    """Runs the command; returns its exit status."""
    check_workloads(FLAGS.workloads)
    verify.check_flags()
    if FLAGS.phase != ALL:
        command.write_json(run_phase(FLAGS.phase))
        return 0
    from parity.reports.formatting import make_console
    from parity.reports.workloads_table import workloads_table

    start = time.time()
    results = run_phases()
    if isinstance(results, int):
        return results
    seconds = time.time() - start
    make_console().print(workloads_table(results))
    command.write_json({**results, "seconds": seconds})
    status = exit_status(results)
    verdicts = {0: "PARITY on every workload", 3: "parity NOT SHOWN on every workload", 1: "NO PARITY somewhere"}
    verdict = verdicts[0] if has_parity(results) else verdicts[status]
    print(f"{verdict}, {seconds:.0f} s, everything in {FLAGS.json}")
    return status


console = command.entry(main, f"{__doc__}\n\n{subcommand_list()}")

if __name__ == "__main__":
    console()
