"""`python -m parity.survival --workload=resnet18 --kills=20`: is a run that was killed the same as one that was not?

Trains once without a break, then again in a run that is killed (SIGKILL) at random steps, each time started again from
its checkpoints; with --workers=2, one of the two is killed and the other must end by itself. The final checkpoints are
compared bit by bit. Exit status 0: identical; 1: not, or something hung.
"""

from __future__ import annotations

import os
import random
import tempfile

from absl import flags

from modern import flags as modern_flags
from parity import flags as parity_flags  # noqa: F401  --json
from parity.processes import child_command, kill_and_resume
from parity.reports.progress import Progress
from workloads.selection import flags as job_flags
from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_integer("steps", 400, "Steps of the run.")
flags.DEFINE_integer("kills", 20, "How often it is killed, at random steps.")
flags.DEFINE_integer("checkpoint_every", 10, "Steps from one checkpoint to the next.")
flags.DEFINE_integer("kill_seed", 0, "Of the steps, and of who is killed.")

FLAGS = flags.FLAGS


def main():
    require(FLAGS.kills >= 1, "--kills", FLAGS.kills, "must be at least 1")
    require(FLAGS.steps > FLAGS.kills, "--steps", FLAGS.steps, f"must be more than --kills={FLAGS.kills}")
    arguments = child_command.flag_arguments(FLAGS, [job_flags.__name__, modern_flags.__name__])
    arguments += [f"--steps={FLAGS.steps}", f"--checkpoint_every={FLAGS.checkpoint_every}"]
    arguments += ["--log_every=1", "--steps_per_call=10"]
    if FLAGS.workers > 1:
        arguments.append("--strategy=multi_worker")
    rng = random.Random(FLAGS.kill_seed)
    moments = sorted(rng.sample(range(1, FLAGS.steps), FLAGS.kills))
    with tempfile.TemporaryDirectory() as folder:
        whole, broken, shown = os.path.join(folder, "whole"), os.path.join(folder, "broken"), Progress("survival")
        kill_and_resume.train_to_end(
            whole, arguments, FLAGS.workers, lambda step: shown.update(step, FLAGS.steps, "without a break")
        )
        kills = kill_and_resume.train_with_kills(
            broken, arguments, FLAGS.workers, moments, rng, lambda step: shown.update(step, FLAGS.steps, "killed")
        )
        shown.done()
        environment.prepare(exact=False)
        (name, left), (other, right) = kill_and_resume.read_final_state(whole), kill_and_resume.read_final_state(broken)
    differ = kill_and_resume.differing_tensors(left, right) + ([] if name == other else [f"the step: {name} and {other}"])
    passed = not differ and len(kills) == FLAGS.kills
    slowest = max((seconds for _, _, seconds in kills), default=0.0)
    print(
        "{}: {} steps, killed {} times at steps {}; {} tensors of {}: {}; all had ended {:.1f} s after a kill".format(
            FLAGS.workload,
            FLAGS.steps,
            len(kills),
            ", ".join(str(step) for step, _, _ in kills),
            len(left),
            name,
            "identical bits" if not differ else "DIFFERENT: " + ", ".join(differ[:5]),
            slowest,
        )
    )
    result = {"passed": passed, "differing": differ, "tensors": len(left)}
    result["kills"] = [dict(zip(("step", "worker", "seconds"), kill)) for kill in kills]
    command.write_json(result)
    return 0 if passed else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
