"""`python -m parity.faults`: injects every catalogued fault and shows which causes are named. The proof that checks can fail.

Each fault is injected in one place of the port (or of the towers, where it lives there), on every workload where it
can occur, at 2 and 4 replicas; legacy runs beside it, and the criteria name a cause from the numbers alone. Exit status
0: every fault was detected and no wrong cause was named with high confidence; 1: not; 2: input that cannot be used.
"""

from __future__ import annotations

import os
import time

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from parity.processes import pool as workers
from workloads.selection import registry
from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_list("workloads", list(registry.NAMES), "Which workloads.")
flags.DEFINE_list("planted_replicas", ["2", "4"], "At how many replicas.")
flags.DEFINE_list("only", [], "Only these faults or causes, by name.")
flags.DEFINE_boolean("pairs", False, "Two faults at once, instead of each alone.")
flags.DEFINE_integer("processes", 2, "Processes that share the work.", lower_bound=1)
flags.DEFINE_boolean("list", False, "List causes and their faults, and run nothing.")

FLAGS = flags.FLAGS

#: Trials that one process runs.
PORTION = 24


def planned(names, replicas, only, pairs):
    """[`trial.InjectedFaults`] of what the flags ask for."""
    from parity.causes import catalogue
    from parity.fault_injection import trial
    from parity.fault_injection.pairs import PAIRS

    faults = {fault.name: (cause, fault) for cause in catalogue.CAUSES for fault in cause.faults}
    found = []
    for name in names:
        for count in replicas:
            workload = registry.get(name)
            if pairs:
                made = [trial.fault_pair(faults[a], faults[b], name, workload, count) for a, b in PAIRS]
            else:
                made = [trial.single_fault(cause, fault, name, workload, count) for cause, fault in faults.values()]
            found += [injected for injected in made if injected is not None and _wanted(injected, only)]
    return found


def _wanted(injected, only):
    return not only or any(word in injected.names + injected.expected for word in only)


def run(names, replicas, only, pairs, processes, show):
    """[row] of all trials, `show(row, done, total)` called for each as it is done."""
    groups = sorted(((n, c) for n in names for c in replicas), key=lambda g: (g[0] != "resnet18", -g[1]))
    sizes = {(name, count): len(planned([name], [count], only, pairs)) for name, count in groups}
    total = sum(sizes.values()) + (0 if pairs else len(_speed_faults(only)))
    portions = [(*group, start) for group in groups for start in range(0, sizes[group], PORTION)]
    rows = []

    def take(row):
        rows.append(row)
        show(row, len(rows), total)

    with workers.queue_manager() as manager, workers.process_pool(processes, tasks_per_process=1) as pool:
        queue = manager.Queue()
        jobs = [
            pool.apply_async(_portion, (*portion, only, pairs, queue), error_callback=print) for portion in portions
        ]
        if not pairs and _speed_faults(only):
            jobs.append(pool.apply_async(_speed, (only, queue)))
        while not all(job.ready() for job in jobs) or not queue.empty():
            if queue.empty():
                time.sleep(0.1)
            else:
                take(queue.get())
        for job in jobs:
            job.get()
    return rows


def _portion(name, count, first, only, pairs, queue):
    from parity.fault_injection import trial

    trials = trial.Trials()
    for injected in planned([name], [count], only, pairs)[first : first + PORTION]:
        start = time.perf_counter()
        row = trials.run(injected)
        row["seconds"] = round(time.perf_counter() - start, 2)
        queue.put(row)


def _speed_faults(only):
    from parity.causes import speed

    return [(c, f) for c in speed.CAUSES for f in c.faults if not only or f.name in only or c.id in only]


def _speed(only, queue):
    from parity.causes import speed

    for cause, fault in _speed_faults(only):
        queue.put(speed.trial(cause, fault))


def summary(rows, pairs):
    """{measure: number} over all trials."""
    count = len(rows) or 1
    found = {
        "runs": len(rows),
        "faults": len({row["planted"] for row in rows}),
        "detected": sum(row["detected"] for row in rows) / count,
        "named_first": sum(row["right"] for row in rows) / count,
        "wrong_and_sure": sum(bool(row["wrong_and_sure"]) for row in rows),
        "first_wrong_and_sure": sum(row["confidence"] == "high" and not row["right"] for row in rows),
    }
    if pairs:
        found["both_named"] = sum(bool(row["both_named"]) for row in rows) / count
    return found


def main():
    command.require_each(FLAGS.workloads, registry.NAMES, "--workloads")
    for count in FLAGS.planted_replicas:
        require(count.isdigit() and 2 <= int(count) <= 8, "--planted_replicas", count, "numbers from 2 to 8")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    environment.prepare(exact=True)
    from parity.reports import faults as fault_report
    from parity.reports.formatting import make_console

    if FLAGS.list:
        make_console().print(fault_report.catalogue_table())
        return 0
    replicas = [int(count) for count in FLAGS.planted_replicas]
    console, show = make_console(), fault_report.TrialPrinter()
    rows = run(FLAGS.workloads, replicas, FLAGS.only, FLAGS.pairs, FLAGS.processes, show)
    require(rows, "--only", FLAGS.only, "no such fault or cause; see --list")
    totals = summary(rows, FLAGS.pairs)
    console.print(fault_report.fault_summary_table(rows, totals))
    console.print(fault_report.faults_verdict(totals))
    command.write_json({"runs": rows, "summary": totals})
    return 0 if totals["detected"] == 1 and not totals["first_wrong_and_sure"] else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
