"""`python -m parity.clean_runs`: checks that runs without a fault raise no alarm.

Workloads x replicas x dtypes x all-reduces x batches, each with its own seed, in both modes. A run is flagged if it
does not verify, or if any criterion names a cause. Exit status 0: nothing was flagged; 1: something was; 2: input that
cannot be used. `--json` holds every run with its seed, so that each can be run again.
"""

from __future__ import annotations

import functools
import os

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from parity.experiments import false_alarms
from parity.processes.pool import process_pool
from workloads.progress.progress import Progress
from workloads.support.command_line import command

flags.DEFINE_integer("runs", 540, "Number of runs.", lower_bound=1)
flags.DEFINE_integer("first_seed", 0, "Seed of the first run; each job, run in both modes, has the next seed.")
flags.DEFINE_integer("run_steps", 4, "Number of steps of a run.", lower_bound=2)
flags.DEFINE_integer("processes", 2, "Number of processes that share the work.", lower_bound=1)

FLAGS = flags.FLAGS

#: Cases that one process runs.
TASKS_PER_PROCESS = 20


def run_all_cases(cases: list[false_alarms.CleanCase]) -> list[false_alarms.CleanRun]:
    """Runs the cases in several processes; prints a line for each run that is flagged."""
    runs: list[false_alarms.CleanRun] = []
    progress = Progress("clean_runs", "run")
    run_case = functools.partial(false_alarms.run_clean_case, steps=FLAGS.run_steps)
    with process_pool(FLAGS.processes, TASKS_PER_PROCESS) as pool:
        for runs_of_case in pool.imap_unordered(run_case, cases):
            for run in runs_of_case:
                runs.append(run)
                if run.alarms:
                    print(f"FLAGGED {run.to_json()}", flush=True)
                progress.update(len(runs), len(cases) * len(false_alarms.MODES), "clean runs")
    progress.done()
    return runs


def main() -> int:
    """Runs the command; returns its exit status."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cases = false_alarms.plan_clean_cases(FLAGS.runs, FLAGS.first_seed)
    runs = run_all_cases(cases)
    flagged = sum(bool(run.alarms) for run in runs)
    last_seed = FLAGS.first_seed + len(cases) - 1
    print(f"{len(runs)} clean runs, seeds {FLAGS.first_seed} to {last_seed}: {flagged} flagged")
    in_order = sorted(runs, key=lambda run: run.case.seed)
    command.write_json({"runs": [run.to_json() for run in in_order], "flagged": flagged})
    return 1 if flagged else 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
