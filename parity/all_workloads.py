"""`python -m parity`: every workload, old way and new way, proven equal and timed side by side.

Verifies the five systems step by step, then benchmarks them, on all GPUs found or else on two logical CPU
devices; prints a table and writes report.json. Exit status 0: parity everywhere; 1: not; 2: unusable input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

from absl import flags

from parity import benchmark, verify
from parity.processes import interpreter
from parity.subcommands import subcommand_list
from workloads.lifted import is_lift_folder
from workloads.selection import registry
from workloads.support import command, environment
from workloads.support.errors import InputError, require

PHASES = ("all", "verify", "benchmark")

flags.DEFINE_enum(
    "phase",
    "all",
    PHASES,
    "all: both, each in a process of its own, since exact runs need settings that "
    "benchmarks must not have; verify; benchmark.",
)
flags.DEFINE_list("workloads", list(registry.NAMES), "Which workloads.")

FLAGS = flags.FLAGS
FLAGS.set_default("json", "report.json")


def run_phases(report):
    """Runs both phases as child processes and joins their results.

    Returns:
      {"verify": [...], "benchmark": [...]}, one entry a workload; None if a phase refused its input.
    """
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for phase in PHASES[1:]:
            path = os.path.join(folder, phase + ".json")
            this = interpreter.module_command(sys.executable, "parity") + sys.argv[1:]
            child = subprocess.run([*this, "--phase=" + phase, "--json=" + path], env=interpreter.environment())
            if child.returncode == 2:
                return None  # the child has said why
            if not os.path.exists(path):
                raise InputError(f"phase {phase} ended with status {child.returncode} and no result")
            with open(path, encoding="utf-8") as file:
                results[phase] = json.load(file)
    report.console().print(report.main_table(results))
    return results


def run_phase(phase):
    """One phase over all workloads, in this process: its list of results, a line printed for each."""
    environment.prepare(exact=phase == "verify")
    _suit_machine()
    results = []
    for name in FLAGS.workloads:
        one = _verify_one if phase == "verify" else _benchmark_one
        results.append(one(name))
    return results


def _suit_machine():
    """All GPUs and the write-ups' sizes where there are GPUs; unless flags say otherwise."""
    import tensorflow as tf

    gpus = len(tf.config.list_physical_devices("GPU"))
    if gpus and FLAGS.device != "cpu":
        if not FLAGS["replicas"].present:
            FLAGS.replicas = gpus
        if not FLAGS["size"].present:
            FLAGS.size = "seed"
        if not FLAGS["tolerance"].present:
            FLAGS.tolerance = "auto"  # nobody has run this on GPUs; identical bits are not promised there


def _verify_one(name):
    from parity import flags as parity_flags
    from parity.reports import tables as report

    setup = parity_flags.setup_from_flags(exact=True, workload_name=name)
    result, about = verify.run(setup, None, FLAGS.steps, FLAGS.mode, verify.tolerance_name(), FLAGS.floor)
    print(f"{setup.job.workload.name:14} {report.verdict_line(result)}", flush=True)
    return verify.to_json(setup, result, about, None)


def _benchmark_one(name):
    result = benchmark.run(*benchmark.setup_from_flags(name))
    peak_bytes = benchmark.peaks(result, name) if FLAGS.memory and result.ratio is not None else {}
    for line in benchmark.lines(result, peak_bytes):
        print(f"{result.setup.job.workload.name:14} {line}", flush=True)
    return benchmark.to_json(result, peak_bytes)


def main():
    for name in FLAGS.workloads:
        require(
            name in registry.NAMES or ":" in name or is_lift_folder(name),
            "--workloads",
            name,
            "allowed: {}; package.module:attribute; a lift's folder".format(", ".join(registry.NAMES)),
        )
    verify.check_flags()
    from parity.reports import tables as report

    start = time.time()
    if FLAGS.phase != "all":
        command.write_json(run_phase(FLAGS.phase))
        return 0
    results = run_phases(report)
    if results is None:
        return 2
    equal = all(entry["verdict"] == "parity" for entry in results["verify"])
    results["seconds"] = time.time() - start
    command.write_json(results)
    verdict = "PARITY on every workload" if equal else "NO PARITY somewhere"
    print(f"{verdict}, {results['seconds']:.0f} s, everything in {FLAGS.json}")
    return 0 if equal and all("ratio" in entry for entry in results["benchmark"]) else 1


console = command.entry(main, f"{__doc__}\n\n{subcommand_list()}")

if __name__ == "__main__":
    console()
