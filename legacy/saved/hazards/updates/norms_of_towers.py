"""Hazards of gradients that are clipped by the norm of another tower's, or dropped where one tower's loss is NaN."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES, NORMS
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PRODUCTS = ("Mul", "RealDiv", "Div")
_FINITE = ("IsFinite", "IsNan", "IsInf")


def clipped_by_another_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds gradients that are scaled by a norm in which none of their towers is, or not all; one hazard for all."""
    graph = whole.graph
    backward = {name for name in whole.labels if is_gradient_op(name)} if whole.count > 1 else set()
    behind = (graph.descendants(backward, controls=False) - backward) & whole.reach
    of_norms = _computed_from_norms(whole, backward) if behind else set()
    towers = _towers_before(whole, backward) if of_norms else {}
    for name in [name for name in graph.of_types(*_PRODUCTS) if name in behind]:
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        for gradient, factor in zip(inputs, reversed(inputs)):
            of_norm = _listed(towers[factor]) if factor in of_norms else set()
            own = _listed(towers[gradient]) if of_norm else set()
            if not own or not _misses(own, of_norm):
                continue
            combined = "the combined gradient" if len(own) > 1 else "the gradient"
            kept = "what is too large there alone is clipped" if own & of_norm else "what is too large is not clipped"
            yield Hazard(
                "CLIPPED_BY_ANOTHER_TOWER",
                name,
                f"{name} scales {combined} {gradient} of {listed_towers(own)} by a norm of those of "
                f"{listed_towers(of_norm)} alone: {kept}",
                "clip each replica's gradients by their own norm, or the reduced ones; for parity gather the norm",
            )
            return


def _misses(own: Collection[int], of_norm: Collection[int]) -> bool:
    """Whether a norm is of none of the towers of a gradient, or of one where several are combined."""
    return not set(own) & set(of_norm) or (len(own) > 1 and len(of_norm) == 1)


def _computed_from_norms(whole: WholeGraph, backward: Collection[str]) -> set[str]:
    """The nodes that norms lead to by way of no gradient op, and that are none."""
    norms = [name for name in whole.graph.of_types(*NORMS) if name not in backward]
    return whole.graph.descendants(norms, stop=backward, controls=False).difference(backward)


def _towers_before(whole: WholeGraph, backward: Collection[str]) -> dict[str, int]:
    """The towers whose gradient ops each node is the next to be computed from, as bits; of a gradient op, its own."""
    own = {name: 1 << whole.labels[name] for name in backward}
    ordered = whole.graph.order(whole.graph.nodes)
    return {**whole.graph.flow(ordered, own, controls=False, stop=backward), **own}


def _listed(bits: int) -> set[int]:
    """The numbers of the bits that are set."""
    return {number for number in range(bits.bit_length()) if bits >> number & 1}


def guarded_by_one_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates by several towers that are made where results of one are finite, whatever those of others are.

    A clipping by a global norm makes gradients NaN where the norm is none, and leaves nothing out.
    """
    kinds = {name: whole.graph.type(name) for name in whole.reach - whole.minimized} if whole.count > 1 else {}
    guards = [name for name in whole.graph.nodes if kinds.get(name) in _FINITE and name in whole.data]
    guards = [name for name in guards if not is_gradient_op(name) and not CLIPPING_SCOPES.search(name)]
    towers = set().union(*(_examined(whole, name) for name in guards))
    combined = guards and any(len(whole.towers_of(_backward_ops(whole, apply))) > 1 for apply in whole.applies)
    if combined and len(towers) == 1:
        yield Hazard(
            "GUARDED_BY_ONE_TOWER",
            guards[0],
            f"the updates depend on {guards[0]} ({kinds[guards[0]]}), which looks at {listed_towers(towers)} "
            f"alone: where another of the {whole.count} towers has a loss or gradients that are no numbers, they are "
            "applied",
            "examine the reduced gradients, or reduce the answers of all replicas; for parity use this replica's",
        )


def _examined(whole: WholeGraph, guard: str) -> set[int]:
    """The towers whose results a guard looks at: of a tower's own loss, that tower."""
    own = whole.labels.get(guard)
    towers = {own} if own is not None else set()
    return towers | whole.data_towers(guard) | whole.towers_of(_backward_ops(whole, guard))


def _backward_ops(whole: WholeGraph, name: str) -> set[str]:
    """The gradient ops that a node is computed from."""
    return {node for node in whole.graph.ancestors([name], controls=False) if is_gradient_op(node)}
