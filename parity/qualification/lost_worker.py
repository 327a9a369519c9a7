"""`python -m parity.lost_worker --workers=3 --parameter_servers=2`: kills a worker, compares losses.

Trains with parameter servers several times to the end, and as often with one worker killed (SIGKILL) in mid-run, and
compares the final losses (the mean of the last tenth of the steps). Exit status 0: every run was completed, and those
that lost a worker end within three deviations of the mean of those that did not; 1: not. It says something only of a
workload whose loss falls: made-up class labels cannot be learned, `regression` can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from absl import flags

from modern import flags as modern_flags
from modern.multi_worker import measured_staleness
from parity import flags as parity_flags  # noqa: F401  --json
from parity.processes import worker_loss
from workloads.progress.progress import Progress
from workloads.selection import flags as job_flags
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.processes.worker_loss import TrainingOutcome

flags.DEFINE_integer("steps", 100, "Number of steps of every run.")
flags.DEFINE_integer("runs", 6, "Number of runs with a kill, and of runs without.")

FLAGS = flags.FLAGS
FLAGS.set_default("workers", 3)
FLAGS.set_default("parameter_servers", 2)
FLAGS.set_default("strategy", "parameter_server")


class FinalLosses(NamedTuple):
    """Final losses of the runs with all workers, and of those in which one was killed."""

    kept: list[float]
    killed: list[float]


def check_flags() -> None:
    """Raises `InputError` for flags that cannot be used."""
    require(FLAGS.steps >= 2, "--steps", FLAGS.steps, "must be at least 2")
    require(FLAGS.runs >= 3, "--runs", FLAGS.runs, "must be at least 3, to have a spread")
    require(FLAGS.workers >= 2, "--workers", FLAGS.workers, "must be at least 2, so that one can be lost")
    require(FLAGS.strategy == "parameter_server", "--strategy", FLAGS.strategy, "here: parameter_server")
    modern_flags.check_strategy()


def outcome_line(outcome: TrainingOutcome, killed: bool) -> str:
    """Formats one run: its final loss and the staleness of its updates."""
    kind = "one worker killed" if killed else "all workers kept  "
    mean = measured_staleness.mean_staleness(outcome.staleness)
    return (
        f"{kind}: final loss {outcome.final_loss:.5f}, {counted(sum(outcome.staleness.values()), 'update')}, "
        f"staleness mean {mean:.2f}, most {max(outcome.staleness)}"
    )


def train_all_runs() -> FinalLosses:
    """Runs without and with a kill in turn; prints a line for each."""
    job, make_source = job_flags.job_from_flags(workers=FLAGS.workers, replicas=1)
    options, progress = modern_flags.options_from_flags(exact=True), Progress("lost_worker", "run")
    losses = FinalLosses([], [])
    for number in range(2 * FLAGS.runs):
        killed = bool(number % 2)
        kill_at = FLAGS.steps // 2 if killed else None
        outcome = worker_loss.train_losing_worker(
            job, make_source, options, FLAGS.parameter_servers, FLAGS.steps, kill_at
        )
        (losses.killed if killed else losses.kept).append(outcome.final_loss)
        print(outcome_line(outcome, killed), flush=True)
        progress.update(number + 1, 2 * FLAGS.runs)
    progress.done()
    return losses


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    environment.prepare(exact=True)
    losses = train_all_runs()
    passed = worker_loss.within_spread(losses.killed, losses.kept)
    where = "within" if passed else "BEYOND"
    print(f"every run was completed; those that lost a worker end {where} three deviations of the others' mean")
    command.write_json({"passed": passed, "kept": losses.kept, "killed": losses.killed})
    return 0 if passed else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
