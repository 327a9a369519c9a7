"""A run recorded in its own old environment, the old graph in this TensorFlow, and the port: three columns.

Where the original and the port differ, the middle one tells why: what differs between the original and the old graph
here is this TensorFlow's doing, what differs between the old graph here and the port is the port's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools

from legacy.rerun.program import OldGraphProgram
from legacy.rerun.recorded_run import RecordedRun
from legacy.rerun.recorded_source import RecordedSource
from legacy.rerun.recording import RecordedSteps
from modern.options import ALL_REDUCES
from parity.comparison.setup import Setup
from parity.comparison.verification import verify
from workloads.program import RecordRewriter
from workloads.support.errors import require

#: The comparisons, in the order of the columns.
COLUMNS = ("original / old graph here", "old graph here / port", "original / port")


@dataclasses.dataclass
class ThreeWays:
    """{column: `Verification`}; the last column is judged. `missing` is what the recording does not hold."""

    columns: dict
    missing: list

    @property
    def passed(self):
        """Whether the port does what the original did."""
        return self.columns[COLUMNS[-1]].passed


def run(setup, folder, steps, rule="auto", progress=None):
    """Compares a recording with the old graph here and with the port.

    Args:
      setup: `pair.Setup` of the lifted job.
      folder: the recording.
      steps: how many, or None for all that were recorded.
      rule: "auto" or "exact", for what is compared with the original.

    Raises:
      InputError: the recording is damaged or of another program, or holds fewer steps.
    """
    job = setup.job
    recorded = RecordedSteps(folder, job.workload.plan)
    steps = len(recorded) if steps is None else steps
    require(steps <= len(recorded), "--steps", steps, f"the recording holds {len(recorded)}")
    make_source = functools.partial(RecordedSource, steps=recorded)
    setup = Setup(job, make_source, setup.legacy, setup.modern, setup.device, setup.logical_cpus)
    with RecordedRun(job, recorded) as peek:
        start = peek.state()
        like = [peek.step() for _ in job.workload.plan.phases]
    columns = {}
    for column in COLUMNS:
        left = setup.legacy_program() if column == COLUMNS[1] else RecordedRun(job, recorded)
        right = setup.legacy_program() if column == COLUMNS[0] else setup.modern_program()
        original = column != COLUMNS[1]
        with contextlib.ExitStack() as stack:
            stack.enter_context(left)
            right = Only(stack.enter_context(right), like) if original else stack.enter_context(right)
            others = [Only(stack.enter_context(other), like) for other in (_alternatives(setup) if original else [])]
            for program in [left, right] + others:
                program.load(start)
            columns[column] = verify(
                left,
                right,
                job,
                steps,
                "locked" if original else "free",
                rule if original else "exact" if ALL_REDUCES[setup.modern.all_reduce].in_order else "auto",
                progress=None if progress is None else functools.partial(progress, column),
                alternatives=others,
            )
    return ThreeWays(columns, _missing(job.workload.plan, like))


def _alternatives(setup):
    """The old graph with each other order that its races allow."""
    phases = setup.job.workload.plan.phases
    for number in range(max(len(phase.other_control_dependencies) for phase in phases)):
        others = [phase.other_control_dependencies[number : number + 1] for phase in phases]
        dependencies = [other[0] if other else phase.control_dependencies for other, phase in zip(others, phases)]
        yield OldGraphProgram(setup.job, setup.make_source(setup.job), setup.legacy, setup.devices(), dependencies)


def verdict(result):
    """The result in one sentence, and why, if it is no parity."""
    original, here, port = (result.columns[column] for column in COLUMNS)
    if port.passed:
        return "PARITY with the original: {} steps, every stage {}".format(
            port.steps, "identical bits" if port.tolerance_name == "exact" else "within the auto tolerance"
        )
    if here.passed and not original.passed:
        return "NO PARITY with the original; but the port has the old graph's bits: this TensorFlow runs it differently"
    return "NO PARITY with the original" + ("" if here.passed else ", nor with the old graph here: the port differs")


class Only(RecordRewriter):
    """A program whose records hold only what some other records hold.

    Args:
      program: the `Program`.
      like: one record for each train op that the program runs in turn.
    """

    def __init__(self, program, like):
        super().__init__(program)
        self._like = like

    def rewrite(self, record):
        like = self._like[record.step % len(self._like)]
        gradients = [{n: g[n] for n in kept if n in g} for g, kept in zip(record.gradients, like.gradients)]
        combined = {name: record.combined[name] for name in like.combined}
        losses = record.losses if like.losses else []
        return dataclasses.replace(record, gradients=gradients, combined=combined, losses=losses)


def _missing(plan, like):
    missing = [f"numbers that {e.name} draws inside a loop" for e in plan.noise if e.in_loop]
    for phase, record in zip(plan.phases, like):
        if phase.losses and not record.losses:
            missing.append(f"losses of {phase.train_op}")
        for tower, gradients in enumerate(phase.gradients):
            missing += [f"gradient of {n} on tower {tower}" for n in gradients if n not in record.gradients[tower]]
    return missing
