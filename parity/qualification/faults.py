"""`python -m parity.faults`: injects every catalogued fault and checks that its cause is named.

Each fault is injected in one place of the port (or of the towers, where it lives there), on every workload where it
can occur, at 2 and 4 replicas; legacy runs beside it, and the criteria name a cause from the numbers alone. Exit status
0: every fault was detected and no wrong cause was named with high confidence; 1: not; 2: input that cannot be used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.files import json_file
from workloads.support.machine import environment

if TYPE_CHECKING:
    from parity.fault_injection.trial_row import TimedTrialRow

flags.DEFINE_list("workloads", list(registry.NAMES), "Names of the workloads.")
flags.DEFINE_list("injected_replicas", ["2", "4"], "Numbers of replicas at which each fault is injected.")
flags.DEFINE_list("only", [], "Only these faults or causes, by name.")
flags.DEFINE_boolean("pairs", False, "Inject two faults at once, instead of each alone.")
flags.DEFINE_integer("processes", 2, "Number of processes that share the work.", lower_bound=1)
flags.DEFINE_string(
    "trials",
    None,
    "A file of JSON lines that gains each trial as it ends: trials that it holds are not run again, so that the same "
    "command goes on where it was interrupted.",
)
flags.DEFINE_boolean("list", False, "List causes and their faults, and run nothing.")

FLAGS = flags.FLAGS


def check_flags() -> None:
    """Raises `InputError` for flags that cannot be used."""
    command.require_each(FLAGS.workloads, registry.NAMES, "--workloads")
    check_replicas(FLAGS.injected_replicas)
    if FLAGS.trials:
        json_file.require_writable(FLAGS.trials, "--trials")


def check_replicas(texts: Sequence[str]) -> None:
    """Raises `InputError` unless each text is a number of replicas from 2 to 8."""
    for text in texts:
        require(text.isdigit() and 2 <= int(text) <= 8, "--injected_replicas", text, "numbers from 2 to 8")


def exit_status(totals: Mapping[str, float]) -> int:
    """Returns 0 if every fault was detected and no wrong cause came first with high confidence, else 1."""
    return 0 if totals["detected"] == 1 and not totals["first_wrong_and_sure"] else 1


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    environment.prepare(exact=True)
    from parity.fault_injection import campaign, trial_log
    from parity.reports import faults as fault_report
    from parity.reports.formatting import make_console

    console = make_console()
    if FLAGS.list:
        console.print(fault_report.catalogue_table())
        return 0
    replicas = tuple(int(text) for text in FLAGS.injected_replicas)
    plan = campaign.Campaign(tuple(FLAGS.workloads), replicas, tuple(FLAGS.only), FLAGS.pairs)
    log = trial_log.TrialLog(FLAGS.trials) if FLAGS.trials else None
    keys = campaign.candidate_keys(plan)
    earlier = [] if log is None else [row for row in log.rows if trial_log.key_of(row) in keys]
    plan = plan._replace(done=frozenset(map(trial_log.key_of, earlier)))
    printer = fault_report.TrialPrinter()

    def report(row: TimedTrialRow, done: int, total: int) -> None:
        if log is not None:
            log.add(row)
        printer(row, done, total)

    rows = earlier + campaign.run_campaign(plan, FLAGS.processes, report)
    require(rows, "--only", FLAGS.only, "no such fault or cause; see --list")
    totals = campaign.summarize_trials(rows, FLAGS.pairs)
    console.print(fault_report.fault_summary_table(rows, totals))
    console.print(fault_report.faults_verdict(totals))
    command.write_json({"runs": rows, "summary": totals})
    return exit_status(totals)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
