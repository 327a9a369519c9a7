"""Hazards of Adam by hand: no correction, or that of another decay, and the root of an average of gradients."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.beginnings import begins_with_zeros
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import Kept, kept_share
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Relative difference of two decays that is no rounding error.
TOLERANCE = 1e-5
#: The least factor of the first update without corrections, over that with them, that is named.
TOO_LARGE = 2.0


def corrections_of_another_decay(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds m / (1 - c^t) of a moving average m that keeps another share than c; one hazard for all."""
    for name, (write, kept) in _uses(whole, *op_types.QUOTIENTS).items():
        corrected = _corrected_share(whole, whole.graph.inputs(name)[1].node)
        if corrected is not None and abs(corrected - kept.share) > TOLERANCE:
            yield Hazard(
                "CORRECTION_OF_ANOTHER",
                name,
                f"{name} divides a moving average ({whole.writes[write]}), which keeps {kept.share:.4g} of itself in "
                f"each step, by 1 - {corrected:.4g}^t: that corrects an average that keeps {corrected:.4g}",
                "1 - b^t of the average's own decay b; for parity keep it",
            )
            return


def roots_of_averaged_gradients(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds roots of moving averages of gradients, in place of their squares; one hazard for all."""
    for name, (write, kept) in _uses(whole, "Sqrt", "Rsqrt").items():
        if any(map(is_gradient_op, kept.weights)):
            yield Hazard(
                "ROOT_OF_NEGATIVE",
                name,
                f"{name} is the root of {whole.writes[write]}, a moving average of gradients, which may be negative: "
                "the update is NaN there",
                "an average of their squares; for parity keep it",
            )
            return


def moments_without_correction(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates m / sqrt(s) of moments from zero without 1 - b^t, at a constant learning rate; one hazard for all.

    A learning rate that changes may be small while the moments are, as with a warmup, or have the corrections.
    """
    graph, roots = whole.graph, _uses(whole, "Sqrt")
    for name, (mean, kept) in _uses(whole, *op_types.QUOTIENTS).items():
        root = graph.origin(graph.inputs(name)[1]).node
        while graph.type(root) in (*op_types.ADDITIONS, "Maximum") and root not in roots:
            root = graph.origin(graph.inputs(root)[0]).node
        if root not in roots or any(
            graph.type(graph.inputs(one)[0].node) in op_types.QUOTIENTS for one in (name, root)
        ):
            continue
        square, spread = roots[root]
        factor = (1 - kept.share) / (1 - spread.share) ** 0.5
        moments = [whole.writes[mean], whole.writes[square]]
        is_adam = _follows_squares(whole, kept, spread) and all(begins_with_zeros(whole, one) for one in moments)
        if is_adam and factor >= TOO_LARGE and _is_of_constant_rate(whole, name, (mean, square)):
            yield Hazard(
                "MOMENTS_NOT_CORRECTED",
                name,
                f"{name} divides {moments[0]} by the root of {moments[1]}; both begin at 0 and keep {kept.share:.4g} "
                f"and {spread.share:.4g} of themselves in each step, and nothing divides them by 1 - b^t: the first "
                f"update is {factor:.3g} times as large as Adam's",
                "divide each moment by 1 - b^t of its decay b; for parity keep the update: Keras's Adam corrects",
            )
            return


def _follows_squares(whole: WholeGraph, mean: Kept, spread: Kept) -> bool:
    """Whether an average follows the squares of what another one follows."""
    squares = {tensor.node for tensor in (squared(whole, node) for node in spread.weights) if tensor is not None}
    return not squares.isdisjoint(mean.weights)


def _is_of_constant_rate(whole: WholeGraph, quotient: str, changes: Collection[str]) -> bool:
    """Whether updates take a quotient of moments with no power, and no number that is fed or changed.

    Args:
      whole: the graph.
      quotient: of the moments.
      changes: the assignments of the moments, behind which gradients begin.
    """
    graph = whole.graph
    behind = graph.descendants([quotient], controls=False)
    ends = [graph.inputs(name)[1].node for name in whole.applies if name in behind]
    moments = {*changes, *(graph.origin(graph.inputs(name)[1]).node for name in changes)}
    factors = graph.ancestors(ends, stop=moments, controls=False)
    return bool(ends) and not any(_changes_by_step(whole, name) for name in factors)


def _changes_by_step(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a number that is fed, one that the program changes, or a power of a count."""
    kind = whole.graph.type(name)
    if kind in op_types.VARIABLES:
        return whole.is_scalar(name) and name not in whole.trainable
    return kind == "Pow" or kind.startswith("Placeholder")


def _uses(whole: WholeGraph, *kinds: str) -> dict[str, tuple[str, Kept]]:
    """{op of some types that takes a moving average, perhaps corrected: (its assignment, what it keeps)}."""
    graph, found = whole.graph, {}
    averages = {}
    for name, variable in whole.writes.items():
        kept = kept_share(whole, name) if name in whole.members and variable not in whole.trainable else Kept(0.0, {})
        if 0 < kept.share < 1:
            averages[name] = kept
    by_variable = {whole.writes[name]: name for name in averages}
    changed = {graph.origin(graph.inputs(name)[1]).node: name for name in averages if graph.type(name) in op_types.SETS}
    for name in [name for name in graph.of_types(*kinds) if name in whole.members]:
        value = graph.inputs(name)[0].node
        while graph.type(value) in ("Identity", "Mul", *op_types.QUOTIENTS, *op_types.ADDITIONS):
            if value in averages or value in changed or variable_read(graph, value):
                break
            factors = [tensor.node for tensor in graph.inputs(value)]
            of_data = [one for one in factors if one in whole.data or variable_read(graph, one) in by_variable]
            value = of_data[0] if graph.type(value) == "Mul" and len(of_data) == 1 else factors[0]
        write = value if value in averages else changed.get(value) or by_variable.get(variable_read(graph, value))
        if write is not None:
            found[name] = (write, averages[write])
    return found


def _corrected_share(whole: WholeGraph, name: str) -> float | None:
    """c of 1 - c^t; None of anything else."""
    graph = whole.graph
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)] if graph.type(name) == "Sub" else []
    if len(inputs) != 2 or whole.value(inputs[0]) != 1 or graph.type(inputs[1]) != "Pow":
        return None
    base, exponent = (tensor.node for tensor in graph.inputs(inputs[1]))
    return whole.value(base) if whole.value(exponent) is None else None
