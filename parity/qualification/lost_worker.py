"""`python -m parity.lost_worker --workload=regression --workers=3 --parameter_servers=2`: does losing a worker matter?

Trains with parameter servers several times to the end, and as often with one worker killed (SIGKILL) in mid-run, and
compares the final losses (the mean of the last tenth of the steps). Exit status 0: every run was completed, and those
that lost a worker end within three deviations of the mean of those that did not; 1: not. It says something only of a
workload whose loss falls: made-up class labels cannot be learned, `regression` can.
"""

from __future__ import annotations

from absl import flags

from modern import flags as modern_flags
from modern.multi_worker import measured_staleness
from parity import flags as parity_flags  # noqa: F401  --json
from parity.processes import worker_loss
from parity.reports.progress import Progress
from workloads.selection import flags as job_flags
from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_integer("steps", 100, "Steps of every run.")
flags.DEFINE_integer("runs", 6, "Runs with, and runs without a kill.")

FLAGS = flags.FLAGS
FLAGS.set_default("workers", 3)
FLAGS.set_default("parameter_servers", 2)
FLAGS.set_default("strategy", "parameter_server")


def main():
    require(FLAGS.steps >= 2, "--steps", FLAGS.steps, "must be at least 2")
    require(FLAGS.runs >= 3, "--runs", FLAGS.runs, "must be at least 3, to have a spread")
    require(FLAGS.workers >= 2, "--workers", FLAGS.workers, "must be at least 2, so that one can be lost")
    require(FLAGS.strategy == "parameter_server", "--strategy", FLAGS.strategy, "here: parameter_server")
    modern_flags.check_strategy()
    environment.prepare(exact=True)
    job, make_source = job_flags.job_from_flags(workers=FLAGS.workers, replicas=1)
    options, shown = modern_flags.options_from_flags(exact=True), Progress("lost_worker")
    finals = {False: [], True: []}
    for number in range(2 * FLAGS.runs):
        killed = bool(number % 2)
        loss, late = worker_loss.train_losing_worker(
            job, make_source, options, FLAGS.parameter_servers, FLAGS.steps, FLAGS.steps // 2 if killed else None
        )
        finals[killed].append(loss)
        updates = sum(late.values())
        print(
            "{}: final loss {:.5f}, {} updates, staleness mean {:.2f}, most {}".format(
                "one worker killed" if killed else "all workers kept  ",
                loss,
                updates,
                measured_staleness.mean_staleness(late),
                max(late),
            ),
            flush=True,
        )
        shown.update(number + 1, 2 * FLAGS.runs)
    shown.done()
    passed = worker_loss.within_spread(finals[True], finals[False])
    print(
        "every run was completed; those that lost a worker end {} three deviations of the others' mean".format(
            "within" if passed else "BEYOND"
        )
    )
    command.write_json({"passed": passed, "kept": finals[False], "killed": finals[True]})
    return 0 if passed else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
