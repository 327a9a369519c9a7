"""Sentences on what a step does to some weights and not to others: training, clipping, averaging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.rows import Row
from legacy.saved.facts.combining.rows import ADDED_UP
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import is_indices_label
from workloads.support.wording import SEVERAL, counted, listed, plural


def unequal_weight_sentences(
    analysed: AnalysedStep, combining: Sequence[Row], trainable: Sequence[str], writes: Mapping[str, str]
) -> Iterator[str]:
    """Yields a sentence for each thing that a program does to a part of its weights.

    Args:
      analysed: the training step.
      combining: rows of the combining of its gradients, see `combining_rows`.
      trainable: names of the variables that the program calls trainable.
      writes: {node of the whole graph: the variable that it changes}, without initializers and restores.

    Yields:
      The sentences.
    """
    yield from _untrained(analysed, trainable, set(writes.values()))
    yield from _unclipped(combining)
    yield from _unaveraged(analysed)
    yield from _trained_twice(analysed)


def _untrained(analysed: AnalysedStep, trainable: Sequence[str], changed: set[str]) -> Iterator[str]:
    """Trainable variables that losses, or gradients without a loss, depend on, and that no op of the graph changes."""
    losses = [name for phase in analysed.phases for name in phase.losses]
    gradients = [one.tensor for phase in analysed.phases if not phase.losses for one in phase.combine]
    said: set[str] = set()
    for names, of in ((losses, "the loss depends"), (gradients, "gradients depend")):
        before = analysed.graph.ancestors([parse_tensor_name(name).node for name in names], controls=False) - said
        left = [name for name in dict.fromkeys(trainable) if name in before and name not in changed]
        said |= before
        if left:
            variables = counted(len(left), "trainable variable")
            yield f"no op changes {variables} that {of} on: {listed(left, SEVERAL)}"


def _unclipped(combining: Sequence[Row]) -> Iterator[str]:
    """Weights whose gradients are not clipped, in a train op that clips others'."""
    for train_op, is_sum in dict.fromkeys((row["train op"], row["are"] == ADDED_UP) for row in combining):
        # Gradients may be clipped before they are added up, or the sums behind that.
        rows = [row for row in combining if (row["train op"], row["are"] == ADDED_UP) == (train_op, is_sum)]
        names = [[n for n in row["of"].split(", ") if not is_indices_label(n)] for row in rows]
        clipped = {n for row, own in zip(rows, names) for n in own if row["clipped"] != "no"}
        unclipped = [n for row, own in zip(rows, names) for n in own if row["clipped"] == "no"] if clipped else []
        left = [name for name in unclipped if name not in clipped]
        if left:
            variables = plural(len(left), "gradient", "gradients")
            yield f"{train_op}: clipping leaves out the {variables} of {listed(left, SEVERAL)}"
        partly = [name for name in unclipped if name in clipped]
        if partly:
            yield f"{train_op}: clipping leaves out some of the gradients of {listed(partly, SEVERAL)}"


def _unaveraged(analysed: AnalysedStep) -> Iterator[str]:
    """Trained weights without a moving average, where others have one."""
    roles = {variable.name: variable for variable in analysed.plan.variables}
    weights = [name for name, variable in roles.items() if variable.role == "weight" and analysed.is_changed(name)]
    averaged = {variable.of for variable in roles.values() if variable.role == "average"}
    left = [name for name in weights if name not in averaged]
    if left and len(left) < len(weights):
        yield f"{counted(len(left), 'weight has', 'weights have')} no moving average: {listed(left, SEVERAL)}"


def _trained_twice(analysed: AnalysedStep) -> Iterator[str]:
    """Weights that two train ops train, such as a critic's that the generator's optimizer takes along."""
    trained = {
        phase.train_op: [e.writes[0] for e in phase.effects if e.node in analysed.rules and e.writes[0] in weights]
        for weights in [{variable.name for variable in analysed.plan.variables if variable.role == "weight"}]
        for phase in analysed.phases
    }
    for first, (train_op, names) in enumerate(trained.items()):
        for other, others in list(trained.items())[first + 1 :]:
            both = [name for name in dict.fromkeys(names) if name in others]
            if both:
                weights = counted(len(both), "weight")
                yield f"{train_op} and {other} both train {weights}: {listed(both, SEVERAL)}"
