"""`python -m parity`: verifies every workload and benchmarks its port.

Compares the five systems with their ports step by step, then times both sides and the port on one device, with resident
and with streamed batches, on all GPUs found or else on two logical CPU devices; prints a table and writes report.json.
Blocks are shorter than those of `parity.benchmark`. Exit status 0: parity everywhere; 1: not; 2: unusable input; 3: all
agrees, but something that matters was not exercised.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from absl import flags

from parity import benchmark, report_flags, verify_flags
from parity import flags as parity_flags
from parity.processes import turns
from parity.processes.json_command import run_json_command
from parity.subcommands import subcommand_list
from workloads.lifted import is_lift_folder
from workloads.progress import display
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.errors import InputError, require
from workloads.support.machine import environment
from workloads.support.wording import counted

ALL, VERIFY, BENCHMARK = PHASES = ("all", "verify", "benchmark")

flags.DEFINE_enum(
    "phase",
    ALL,
    PHASES,
    "verify; benchmark; all: both, in processes of their own, since exact runs need settings that benchmarks must not "
    "have.",
)
flags.DEFINE_list("workloads", list(registry.NAMES), "Names of the workloads.")

flags.DEFINE_string(
    "devices",
    None,
    "Adds a column: both sides predicted on devices that are not here, such as v100x8 (see parity.predict).",
)

verify_flags.define_comparison(flags.FLAGS)

FLAGS = flags.FLAGS
FLAGS.set_default("json", "report.json")
#: Values of `parity.benchmark`'s flags that are not given: six programs of each workload end in minutes.
SHORTER = {
    "block_seconds": 0.1,
    "blocks": 10,
    "most_blocks": 12,
    "parity_steps": 3,  # after the comparison of the first phase
    "tried_inputs": ["feed", "dataset"],
    "memory": False,
    "all_cores": False,
}

#: Processes of each phase. Those of the second prepare side by side, and each times while the other waits.
PROCESSES = 2

#: {phase: one JSON result per workload}.
Results = dict[str, list[dict[str, Any]]]


def phase_arguments(phase: str, workloads: Sequence[str]) -> list[str]:
    """Returns the flags of a child process that runs one of `PHASES` over some workloads with this process's flags.

    Later flags override earlier ones.
    """
    return [*sys.argv[1:], f"--workloads={','.join(workloads)}", f"--phase={phase}"]


def run_phases() -> Results | int:
    """Runs both phases as child processes.

    Returns:
      {phase: results}; the exit status if a phase refused its input, or the user's own code failed in it.

    Raises:
      InputError: a phase ended without a result.
    """
    results: Results = {}
    display.end()  # the phases show what they do
    for phase in (VERIFY, BENCHMARK):
        processes = PROCESSES if phase == VERIFY or _can_take_turns(results[VERIFY]) else 1
        portions = [FLAGS.workloads[first::processes] for first in range(min(processes, len(FLAGS.workloads)))]
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(processes) as pool:
            ends = list(pool.map(functools.partial(_run_portion, phase, folder), portions))
        found: dict[str, dict[str, Any]] = {}
        for portion, end in zip(portions, ends):
            if isinstance(end, int):
                return end
            found.update(zip(portion, end))
        results[phase] = [found[name] for name in FLAGS.workloads]
    return results


def _can_take_turns(verified: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether two processes can prepare at once; on GPUs the first steps choose kernels by their speed."""
    return turns.SUPPORTED and all(entry["environment"]["GPUs"] == "0" for entry in verified)


def _run_portion(phase: str, folder: str, workloads: Sequence[str]) -> list[dict[str, Any]] | int:
    """Runs a phase over some workloads as a child process, which takes turns in `folder`; see `run_phases`."""
    variables = {display.VARIABLE: display.LINES, turns.VARIABLE: folder}  # several share the terminal
    end = run_json_command("parity", phase_arguments(phase, workloads), variables, passes_output_on=True)
    if end.status in (2, command.USER_CODE):
        return end.status  # the child has printed why
    if end.result is None:
        raise InputError(f"phase {phase} ended with status {end.status} and no result")
    results: list[dict[str, Any]] = end.result
    return results


def run_phase(phase: str) -> list[dict[str, Any]]:
    """Runs one phase over all workloads in this process, printing a line for each; returns the results for `--json`."""
    turns.own_turns()  # TensorFlow's import is work beside which no other process is timed
    environment.prepare(exact=phase == VERIFY)
    _adapt_defaults_to_gpus()
    _set_defaults(SHORTER)
    run_one = _verify_workload if phase == VERIFY else _benchmark_workload
    return [run_one(name) for name in FLAGS.workloads]


def _adapt_defaults_to_gpus() -> None:
    """Where there are GPUs: all of them, the write-ups' sizes and a measured tolerance, unless flags say otherwise."""
    import tensorflow as tf

    gpus = len(tf.config.list_physical_devices("GPU"))
    if not gpus or FLAGS.device == "cpu":
        return
    # Identical bits are not promised on GPUs.
    _set_defaults({"replicas": gpus, "size": "seed", "tolerance": "auto"})


def _set_defaults(values: Mapping[str, object]) -> None:
    """Sets the flags among {flag: value} that were not given."""
    for name, value in values.items():
        if not FLAGS[name].present:
            setattr(FLAGS, name, value)


def _verify_workload(name: str) -> dict[str, Any]:
    from parity.reports.verification_text import verification_verdict
    from parity.verdict import report
    from parity.verdict.compare_programs import compare_programs

    setup = parity_flags.setup_from_flags(exact=True, workload_name=name)
    comparison = compare_programs(setup, None, verify_flags.plan_from_flags(FLAGS))
    _print_line(setup.job.workload.name, verification_verdict(comparison.verification))
    return report.verification_json(setup, comparison, None, None)


def _benchmark_workload(name: str) -> dict[str, Any]:
    from parity.reports.speed_text import result_lines

    result = benchmark.run_benchmark(*benchmark.plan_from_flags(name))
    if result.partial:
        raise KeyboardInterrupt
    peak_bytes = benchmark.peak_bytes_if_asked(result, name)
    for line in result_lines(result, peak_bytes, FLAGS.warmup):
        _print_line(result.setup.job.workload.name, line)
    predicted = {"predicted": _predict_workload(name)} if FLAGS.devices else {}
    return {**benchmark.benchmark_json(result, peak_bytes), **predicted}


def _predict_workload(name: str) -> dict[str, Any]:
    """Predicts both sides of a workload on the machine of `--devices`, with resident batches."""
    from parity.prediction.machines.selection import machine_named
    from parity.prediction.prediction import predict_step

    machine = machine_named(FLAGS.devices)
    setup = parity_flags.setup_from_flags(exact=False, workload_name=name, resident=True)
    setup = dataclasses.replace(setup, modern=dataclasses.replace(setup.modern, all_reduce="auto"))
    sides = {side: predict_step(setup, side, machine).to_json() for side in ("legacy", "modern")}
    return {"machine": machine.name, "sides": sides}


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


def check_devices() -> None:
    """Raises `InputError` unless `--devices` is a machine with a device for each replica."""
    if FLAGS.devices is None:
        return
    from parity.prediction.machines.selection import machine_named

    machine, replicas = machine_named(FLAGS.devices), FLAGS.replicas or 2
    require(replicas <= machine.count, "--replicas", replicas, f"{machine.name} has {counted(machine.count, 'device')}")


def main() -> int:
    """Runs the command; returns its exit status."""
    check_workloads(FLAGS.workloads)
    check_devices()
    verify_flags.check_comparison(FLAGS)
    benchmark.inputs_from_flags()
    benchmark.other_paths()
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

    def html_page() -> str:
        from parity.html.speed_page import workloads_page

        return workloads_page(verdict, results)

    report_flags.write_report(html_page, FLAGS)
    return status


console = command.entry(main, f"{__doc__}\n\n{subcommand_list()}")

if __name__ == "__main__":
    console()
