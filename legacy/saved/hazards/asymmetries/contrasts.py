"""Hazards of contrastive losses: a scale of the own pair alone, one partner that is the right one of all examples."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.cross_entropies import cross_entropies, filled
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import listed

#: Relative difference of two scales that is no rounding error.
TOLERANCE = 1e-4
#: Of scales, so many are named.
MOST_NAMED = 4


def scales_of_one_side(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds logsumexp(a s) - b t of products s of all pairs and t of own pairs, with a and b not equal; one for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Sub") if not is_gradient_op(name)]:
        weights = linear_weights(whole, name)
        own = [(node, -weight) for node, weight in weights.items() if weight < 0 and _is_product(whole, node)]
        logarithms = [node for node, weight in weights.items() if weight == 1 and graph.type(node) == "Log"]
        for all_pairs, scale in [pair for node in logarithms for pair in _exponents(whole, node)]:
            different = [(node, weight) for node, weight in own if abs(weight - scale) > TOLERANCE * weight]
            if different and len(own) == 1:
                node, weight = different[0]
                yield Hazard(
                    "TEMPERATURE_OF_ONE_SIDE",
                    name,
                    f"{name} compares {node}, the similarities of matching pairs times {weight:.4g}, with "
                    f"exponentials of {all_pairs}, the similarities of all pairs times {scale:.4g}: only one of them "
                    "is divided by the temperature",
                    "divide both by the temperature; for parity keep them",
                )
                return


def scales_of_joined_parts(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds logits that are joined of products of all pairs of some views, with other scales; one hazard for all."""
    graph = whole.graph
    for entropy in [one for one in cross_entropies(whole) if not one.is_sigmoid]:
        joined = graph.origin(entropy.logits).node
        while graph.type(joined) == "Reshape":
            joined = graph.origin(graph.inputs(joined)[0]).node
        parts = [tensor.node for tensor in joined_parts(graph, joined)]
        scales = [_scale_of_products(whole, part) for part in parts]
        known = [scale for scale in scales if scale is not None]
        if len(known) == len(parts) > 1 and max(known) - min(known) > TOLERANCE * max(known):
            factors = listed([f"{one:.4g}" for one in known], MOST_NAMED)
            yield Hazard(
                "TEMPERATURE_OF_ONE_SIDE",
                joined,
                f"{joined} joins similarities of pairs that are multiplied by {factors}: only some of them are divided "
                "by the temperature",
                "divide all by the temperature; for parity keep them",
            )
            return


def _scale_of_products(whole: WholeGraph, name: str) -> float | None:
    """The factor of products of all pairs of results, from which a constant mask may be subtracted; else None."""
    weights = linear_weights(whole, name)
    found = [weight for node, weight in weights.items() if _is_of_results(whole, node)]
    others = [node for node in weights if node in made_by_weights(whole) and not any(linear_inputs(whole, node))]
    return found[0] if len(found) == len(others) == 1 and found[0] > 0 else None


def _is_of_results(whole: WholeGraph, name: str) -> bool:
    """Whether a node has products of results with each other, or with others' results that nothing trains."""
    graph, kind = whole.graph, whole.graph.type(name)
    inner = graph.origin(graph.inputs(name)[0]).node if kind == "Sum" else name
    is_product = kind in op_types.MATRIX_PRODUCTS or (kind == "Sum" and graph.type(inner) == "Mul")
    sides = [tensor.node for tensor in graph.inputs(inner)[:2]] if is_product else []
    results = [one for one in sides if one in made_by_weights(whole) and one in whole.data]
    return len(results) == 2 or (len(results) == 1 and not set(sides) - set(results) & made_by_weights(whole))


def partners_of_one_example(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds softmax losses over products of all rows of a batch with all of another whose labels are one constant."""
    imported, batch = found.context.imported, found.plan.batch
    for entropy in [one for one in cross_entropies(whole) if not one.is_sigmoid and one.op in found.cut.graph.nodes]:
        label = filled(whole, entropy.labels.node)
        for name, weight in linear_weights(whole, entropy.logits.node).items() if label is not None else ():
            sides = (
                [tensor.node for tensor in whole.graph.inputs(name)[:2]] if whole.graph.type(name) == "MatMul" else []
            )
            results = [one for one in sides if one in made_by_weights(whole) and one in found.context.data]
            if weight and len(results) == 2 and batch and imported.shape(name) == (batch, batch):
                yield Hazard(
                    "PARTNER_OF_ONE_EXAMPLE",
                    entropy.op,
                    f"{entropy.op} compares {name}, products of each of {batch} examples with each of {batch}, with "
                    f"the label {label:g} for all: the partner of every example is that of example {label:g}",
                    "tf.range(batch) for labels, if the pairs are on the diagonal; for parity keep them",
                )
                return


def _is_product(whole: WholeGraph, name: str) -> bool:
    """Whether a node adds up products of two results of weights."""
    graph = whole.graph
    inner = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sum" else ""
    if not inner or graph.type(inner) != "Mul":
        return False
    return all(tensor.node in made_by_weights(whole) for tensor in graph.inputs(inner))


def _exponents(whole: WholeGraph, logarithm: str) -> Iterator[tuple[str, float]]:
    """Yields (product of results of weights, its factor) in log(sum(exp(.)))."""
    graph = whole.graph
    total = graph.origin(graph.inputs(logarithm)[0]).node
    inner = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
    if inner and graph.type(inner) == "Exp":
        for node, weight in linear_weights(whole, graph.inputs(inner)[0].node).items():
            both = (
                [tensor.node for tensor in graph.inputs(node)[:2]]
                if graph.type(node) in op_types.MATRIX_PRODUCTS
                else []
            )
            are_results = bool(both) and all(one in made_by_weights(whole) and one in whole.data for one in both)
            if weight > 0 and are_results:
                yield node, weight
