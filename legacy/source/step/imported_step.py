"""A step of which the losses are written, and the rest stays in the lift: where no workload has such an update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence

from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.identifiers import identifier
from legacy.source.lines.naming import free_name
from legacy.source.step.derivatives import raw_gradients, settings_before, settings_of_gradients
from legacy.source.step.input_names import names_of_lift
from legacy.source.step.model import Model, recover_model
from legacy.source.step.statistics import find_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.step.further_gradients import FurtherGradients
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan


class WrittenLoss(NamedTuple):
    """The loss of one train op.

    Attributes:
      function: its name in the text.
      phase: the train op.
      model: the loss.
      of_all: lines of the function of all towers' losses that is minimized, where it is none of their sums.
      with_others: lines of the function of the results on all batches that a replica minimizes, where that is not its
        own loss.
      further: gradients that some weights have besides.
      results: number of a tower's results by which the function of all towers' losses is differentiated.
    """

    function: str
    phase: Phase
    model: Model
    of_all: Sequence[str] = ()
    with_others: Sequence[str] = ()
    further: Sequence[FurtherGradients] = ()
    results: int = 1

    @property
    def function_of_all(self) -> str:
        """Name of the function of all towers' losses or results; "" where each tower's loss stands for itself."""
        lines = [*self.of_all, *self.with_others]
        return lines[0].partition("(")[0].split()[-1] if lines else ""


class ImportedStep(NamedTuple):
    """A step whose losses are written.

    Attributes:
      losses: those that are written.
      reasons: why the rest is not.
    """

    losses: List[WrittenLoss]
    reasons: List[str]


def recover_losses(plan: Plan, graph: Graph, reasons: Sequence[str]) -> ImportedStep:
    """Recovers the losses of all train ops of a lift.

    Args:
      plan: of the lift.
      graph: of the lift.
      reasons: why the whole step cannot be written.

    Returns:
      The losses that can be written.

    Raises:
      Unwritten: none can.
    """
    found: List[WrittenLoss] = []
    more: Dict[str, None] = dict.fromkeys(reasons)
    for phase in plan.phases:
        try:
            if phase.returns and any(phase.returns):
                raise Unwritten("towers: a tower's loss depends on all towers' results")
            if phase.other_losses:
                raise Unwritten("loss: several are minimized; a lift takes one of its towers' place")
            if _derivatives_are_lost(graph, phase):
                raise Unwritten("gradients: the lift has them behind a clipping alone, and not as differentiation does")
            lost = _settings_of_derivatives(plan, graph, phase)
            if lost:
                raise Unwritten(f"gradients: they depend on {', '.join(lost)}, and the towers' losses do not")
            model = recover_model(plan, graph, phase, find_states(plan, phase), {}, names=names_of_lift(plan))
        except Unwritten as reason:
            more[str(reason) if len(plan.phases) == 1 else f"{phase.train_op}: {reason}"] = None
            continue
        found.append(WrittenLoss(loss_function(plan, phase, found), phase, model))
    if not found:
        raise Unwritten("\n".join(more))
    return ImportedStep(found, list(more))


def _derivatives_are_lost(graph: Graph, phase: Phase) -> bool:
    """Whether a lift takes each tower's gradients behind a clipping, where a written loss would give those before."""
    if phase.raw and all(phase.raw):
        return False
    found = [raw_gradients(graph, phase, tower) for tower in range(len(phase.gradients))]
    return found != [dict(gradients) for gradients in phase.gradients]


def _settings_of_derivatives(plan: Plan, graph: Graph, phase: Phase) -> List[str]:
    """Returns the scalars that a tower's gradients depend on, and its loss does not.

    Such as one that divides the sum of all towers' losses: it enters a tower by the derivative that it begins with,
    which is 1 where a written loss is differentiated.
    """
    of_losses = settings_before(plan, graph, phase.losses)
    return [name for name in settings_of_gradients(plan, graph, phase) if name not in of_losses]


def loss_function(plan: Plan, phase: Phase, others: Sequence[WrittenLoss]) -> str:
    """Returns the name of the function of a train op's loss.

    Args:
      plan: of the lift.
      phase: the train op.
      others: losses that have names already.

    Returns:
      The name, which none of the others has.
    """
    name = "tower_loss" if len(plan.phases) == 1 else identifier(phase.train_op) + "_loss"
    return free_name(name, [loss.function for loss in others])


def keep_proven(step: ImportedStep, prove: Callable[[ImportedStep], str]) -> ImportedStep:
    """Leaves out the losses that are written and do not compute what the old graph does.

    Args:
      step: the losses.
      prove: raises `Unwritten` for losses that differ from the old graph's.

    Returns:
      The step with those that do not; the step itself if it has one loss.
    """
    if len(step.losses) == 1:
        return step
    kept: List[WrittenLoss] = []
    reasons = list(step.reasons)
    for loss in step.losses:
        try:
            prove(ImportedStep([loss], []))
            kept.append(loss)
        except Unwritten as reason:
            reasons.append(f"{loss.phase.train_op}: {reason}")
    if not kept:
        raise Unwritten("\n".join(reasons))
    return ImportedStep(kept, reasons)
