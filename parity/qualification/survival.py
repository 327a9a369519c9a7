"""`python -m parity.survival --workload=resnet18 --kills=20`: compares a run that was killed with one that was not.

Trains once without a break, then again in a run that is killed (SIGKILL) at random moments, each time started again
from its checkpoints: a quarter of the kills during the start-up, a quarter while a checkpoint is written. With
--workers=2, one of the two is killed and the other must end by itself. The final checkpoints are compared bit by bit
(with several workers of parameter servers, whose bits are never the same, by their step), and no process may be left.
Exit status 0: identical; 1: not, or something hung.
"""

from __future__ import annotations

import collections
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from absl import flags

from modern import flags as modern_flags
from parity import flags as parity_flags  # noqa: F401  --json
from parity.processes import child_command, kill_and_resume, kill_moments
from workloads.progress.progress import Progress
from workloads.selection import flags as job_flags
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.support.wording import counted, listed

if TYPE_CHECKING:
    from parity.processes.kill_and_resume import FinalState, Kill

flags.DEFINE_integer("steps", 400, "Number of steps of the run.")
flags.DEFINE_integer("kills", 20, "Number of times that it is killed, at random moments.")
flags.DEFINE_integer("checkpoint_every", 10, "Steps from one checkpoint to the next.")
flags.DEFINE_integer("kill_seed", 0, "Seed of the moments at which the run is killed, and of the worker.")

FLAGS = flags.FLAGS

#: Tensors that a message lists.
MOST_LISTED = 5


class Survival(NamedTuple):
    """The result: kills, differences, and the size of the final state.

    Attributes:
      kills: those that took place.
      planned: number of kills that were planned.
      differing: names of tensors whose bits differ; the checkpoints' names if they are of other steps.
      checkpoint: name of the final checkpoint of the run without a break.
      tensors: number of its tensors.
      kinds: kind of each moment that was planned, see `kill_moments`; empty if all are steps.
    """

    kills: Sequence[Kill]
    planned: int
    differing: list[str]
    checkpoint: str
    tensors: int
    kinds: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """Whether every kill took place and the final states have the same bits."""
        return not self.differing and len(self.kills) == self.planned

    def to_json(self) -> dict[str, Any]:
        """Returns the result for `--json`."""
        kinds = {"moments": dict(collections.Counter(self.kinds))} if self.kinds else {}
        return {
            "passed": self.passed,
            "differing": self.differing,
            "tensors": self.tensors,
            "kills": [kill._asdict() for kill in self.kills],
            **kinds,
        }


def compare_final_states(
    whole: FinalState,
    broken: FinalState,
    kills: Sequence[Kill],
    planned: int,
    bits: bool = True,
    kinds: Sequence[str] = (),
) -> Survival:
    """Compares the run without a break with the one that was killed.

    Args:
      whole: final state of the run without a break.
      broken: final state of the run that was killed.
      kills: those that took place.
      planned: number of kills that were planned.
      bits: whether the tensors' bits are compared, and not only their names.
      kinds: kind of each moment that was planned.

    Returns:
      the result.
    """
    differing = kill_and_resume.differing_tensors(whole.tensors, broken.tensors)
    if not bits:
        differing = sorted(set(whole.tensors) ^ set(broken.tensors))
    if whole.checkpoint != broken.checkpoint:
        differing.append(f"the step: {whole.checkpoint} and {broken.checkpoint}")
    return Survival(kills, planned, differing, whole.checkpoint, len(whole.tensors), kinds)


def training_arguments() -> list[str]:
    """Returns the command-line flags of `modern.train` that this command's flags describe."""
    arguments = child_command.flag_arguments(FLAGS, [job_flags.__name__, modern_flags.__name__])
    arguments += [f"--steps={FLAGS.steps}", f"--checkpoint_every={FLAGS.checkpoint_every}"]
    arguments += ["--log_every=1", "--steps_per_call=10"]
    if FLAGS.workers > 1 and FLAGS.strategy == "mirrored":
        arguments.append("--strategy=multi_worker")
    return arguments


def run_both() -> Survival:
    """Trains without a break, then with kills, and compares the final states; shows the progress on stderr."""
    arguments, progress = training_arguments(), Progress("survival")
    rng = random.Random(FLAGS.kill_seed)
    served = FLAGS.strategy == "parameter_server"
    processes = 1 if served else FLAGS.workers  # a coordinator starts its servers itself

    def show(text: str) -> Callable[[int], None]:
        return lambda step: progress.update(step, FLAGS.steps, text)

    with tempfile.TemporaryDirectory() as folder:
        whole, broken = os.path.join(folder, "whole"), os.path.join(folder, "broken")
        before = time.monotonic()
        reported: list[float] = []

        def note(step: int) -> None:
            reported.append(time.monotonic() - before)
            show("without a break")(step)

        kill_and_resume.train_to_end(whole, arguments, processes, note)
        seconds = reported[0], reported[-1] - reported[0]
        moments = kill_moments.draw_moments(FLAGS.kills, FLAGS.steps, FLAGS.checkpoint_every, *seconds, rng)
        kills = kill_moments.train_killed_at(broken, arguments, processes, moments, rng, show("killed"))
        progress.done()
        environment.prepare(exact=False)
        states = kill_and_resume.read_final_state(whole), kill_and_resume.read_final_state(broken)
    kinds = [moment.kind for moment in moments]
    return compare_final_states(*states, kills, FLAGS.kills, not served or FLAGS.workers == 1, kinds)


def result_line(workload_name: str, steps: int, result: Survival) -> str:
    """Formats the result for people.

    Args:
      workload_name: of both runs.
      steps: number of steps of both runs.
      result: the comparison.

    Returns:
      one line.
    """
    verdict = "DIFFERENT: " + listed(result.differing, MOST_LISTED) if result.differing else "identical bits"
    kill_steps = ", ".join(str(kill.step) for kill in result.kills)
    slowest = max((kill.seconds for kill in result.kills), default=0.0)
    counts = [
        f"{count} in {kind}" for kind, count in sorted(collections.Counter(result.kinds).items()) if kind != "step"
    ]
    kinds = f" ({', '.join(counts)})" if counts else ""
    return (
        f"{workload_name}: {counted(steps, 'step')}, killed {counted(len(result.kills), 'time')} at steps {kill_steps}"
        f"{kinds}; {counted(result.tensors, 'tensor')} of {result.checkpoint}: {verdict}; all had ended "
        f"{slowest:.1f} s after a kill"
    )


def main() -> int:
    """Runs the command; returns its exit status."""
    require(FLAGS.kills >= 1, "--kills", FLAGS.kills, "must be at least 1")
    require(FLAGS.steps > FLAGS.kills, "--steps", FLAGS.steps, f"must be more than --kills={FLAGS.kills}")
    result = run_both()
    print(result_line(FLAGS.workload, FLAGS.steps, result))
    command.write_json(result.to_json())
    return 0 if result.passed else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
