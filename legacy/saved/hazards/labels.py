"""Hazards of labels: logits and labels exchanged, labels of one class only, logits that dropout made."""

from __future__ import annotations

import collections
from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiations
from legacy.saved.graph.joins import join_of
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies, filled, logits_of_log
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import is_error
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.inputs import dropouts
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import gradient_scope, is_gradient_op
from workloads.support.wording import counted, plural

#: Products of rows and weights.
_LAYERS = ("MatMul", "Conv2D", "Conv3D", "Conv2DBackpropInput")
#: Ops that count how often each value occurs, in the order in which the values first appear.
_COUNTS_BY_APPEARANCE = ("UniqueWithCounts", "UniqueWithCountsV2")
#: Ops that compute a weight from a count, and keep its place.
_OF_WEIGHTS = (
    *op_types.ARITHMETIC,
    "Identity",
    "Reshape",
    "ExpandDims",
    "Cast",
    "Log",
    "Pow",
    "Reciprocal",
    "Inv",
    "Sqrt",
    "Exp",
    "Neg",
)


def exchanged_labels(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies whose labels weights make, and whose logits none make; one hazard for all."""
    for entropy in cross_entropies(whole):
        given = source_of_elements(whole.graph, entropy.logits)
        if _are_shares_of_classes(whole.graph, entropy.labels) and whole.graph.type(given.node) != "OneHot":
            continue  # the cross entropy of a model's shares and a prior's logits, as of a divergence from it
        if _trained_before(whole, entropy.labels) and not _trained_before(whole, given):
            yield Hazard(
                "LABELS_FOR_LOGITS",
                entropy.op,
                f"the arguments of {entropy.op} are exchanged: its labels are what the model computes, and its logits "
                f"are {given.name}, which no trained variable makes",
                "name the arguments, logits= and labels=; for parity keep them exchanged",
            )
            return


def weights_by_appearance(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds counts in the order of appearance that weight the classes of one-hot labels by position; one for all.

    Counts that their values put in order, as by a scatter, weight by class, and so may those of sorted labels.
    """
    graph = whole.graph
    for name in graph.of_types(*_COUNTS_BY_APPEARANCE):
        values = [
            use for use in graph.users(name) if use.output == 0 and graph.type(use.node) not in op_types.SHAPE_OPS
        ]
        product = "" if values or _is_sorted(graph, name) else _product_with_codes(graph, TensorId(name, 2))
        if product in whole.minimized:
            yield Hazard(
                "WEIGHTS_BY_APPEARANCE",
                product,
                f"{product} multiplies one-hot labels by class weights from the counts of {name}: these are ordered "
                "by first appearance in the batch, and not by class",
                "count by class, as with tf.math.bincount and a fixed number of classes; for parity keep the order",
            )
            return


def _is_sorted(graph: Graph, name: str) -> bool:
    before = graph.ancestors([name], controls=False)
    return any(graph.type(node) in ("TopK", "TopKV2") for node in before)


def _product_with_codes(graph: Graph, counts: TensorId) -> str:
    """The product of one-hot codes and what is computed from counts, place by place; "" if there is none."""
    todo, seen = [counts], {counts}
    while todo:
        tensor = todo.pop()
        for user, position, output in graph.users(tensor.node):
            if output != tensor.output or graph.type(user) not in _OF_WEIGHTS:
                continue
            others = [source_of_elements(graph, one) for i, one in enumerate(graph.inputs(user)) if i != position]
            if graph.type(user) == "Mul" and any(_are_codes(graph, other.node) for other in others):
                return user
            after = TensorId(user, 0)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return ""


def _are_codes(graph: Graph, name: str) -> bool:
    return graph.type(name) == "OneHot" and graph.nodes[name].attr["axis"].i == -1


def _are_shares_of_classes(graph: Graph, tensor: TensorId) -> bool:
    return graph.type(source_of_elements(graph, tensor).node) in op_types.PROBABILITIES


def means_over_classes(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds means of labels times the logarithm of a softmax that also run over the classes; one hazard for all."""
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Mean") if name in graph.nodes]:
        product = source_of_elements(graph, graph.inputs(name)[0]).node
        while graph.type(product) == "Neg":
            product = graph.inputs(product)[0].node
        shape, axes = imported.shape(product), imported.constant(*graph.inputs(name)[1])
        logs = [tensor for tensor in graph.inputs(product) if logits_of_log(graph, tensor) is not None]
        if graph.type(product) != "Mul" or len(logs) != 1 or shape is None or axes is None or not shape[-1]:
            continue
        if shape[-1] > 1 and sorted(int(axis) % len(shape) for axis in np.ravel(axes)) == list(range(len(shape))):
            yield Hazard(
                "MEAN_OVER_CLASSES",
                name,
                f"{name} is a mean over the examples and their {shape[-1]} classes: the loss and its gradients are "
                f"1/{shape[-1]} of the cross entropy",
                "sum over the classes, and take the mean over the examples; for parity keep it",
            )
            return


def _trained_before(whole: WholeGraph, tensor: TensorId) -> set[str]:
    """Trained variables that a tensor is computed from, also where no gradient passes."""
    return whole.graph.ancestors([tensor.node], controls=False) & whole.trainable


def dropped_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies whose logits are what dropout leaves; one hazard for all."""
    decisions = {name for name, _, _ in dropouts(whole)}
    for entropy in cross_entropies(whole):
        product = source_of_elements(whole.graph, entropy.logits).node
        if whole.graph.type(product) != "Mul":
            continue
        factors = [source_of_elements(whole.graph, tensor).node for tensor in whole.graph.inputs(product)]
        if decisions & set(factors):
            yield Hazard(
                "LOGITS_DROPPED",
                entropy.op,
                f"{entropy.op} takes logits after dropout ({product}): the logits of some classes are set to 0",
                "keep it for parity; in new code, drop before the last layer",
            )
            return


def dropped_results(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds errors, from given data, of results of which dropout sets some to 0; one hazard for all."""
    graph, decisions = whole.graph, {name for name, _, _ in dropouts(whole)}
    differences = [name for name in whole.minimized_ops("Sub", "SquaredDifference") if not is_gradient_op(name)]
    for name in [name for name in differences if is_error(whole, name)]:
        sides = [source_of_elements(graph, tensor).node for tensor in graph.inputs(name)]
        for product, target in zip(sides, reversed(sides)):
            factors = graph.inputs(product) if graph.type(product) == "Mul" else []
            is_dropped = decisions & {source_of_elements(graph, tensor).node for tensor in factors}
            if is_dropped and product in made_by_weights(whole) and op_types.is_source(_taken_from(whole, target)):
                yield Hazard(
                    "RESULT_DROPPED",
                    name,
                    f"{name} compares what dropout leaves of a result ({product}) with {target}: the results that are "
                    "set to 0 are errors whatever the network computes",
                    "keep it for parity; in new code, drop before the last layer",
                )
                return


def _taken_from(whole: WholeGraph, name: str) -> str:
    """The type of the op whose elements, or a part of them, a node has."""
    graph = whole.graph
    while graph.type(name) in ("Split", "SplitV", "StridedSlice", "Slice", "Cast", "Reshape"):
        name = source_of_elements(graph, graph.inputs(name)[op_types.divided_input(graph.type(name))]).node
    return graph.type(name)


def labels_of_one_class(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses whose cross entropies all have one constant label, of several outputs of a layer that they train."""
    graph = whole.graph
    entropies = [found for found in cross_entropies(whole) if found.is_sigmoid]
    for root, targets in differentiations(graph, whole.reach).items():
        needed = graph.ancestors(targets, controls=False)
        own = [entropy for entropy in entropies if entropy.op in needed and not _is_of_differences(whole, entropy)]
        labels = {filled(whole, entropy.labels.node) for entropy in own}
        layers: dict[str, set[str]] = collections.defaultdict(set)
        joined = set()
        for entropy in own:
            layers[_last_weight(whole, entropy)].add(entropy.logits.node)
            joined |= {_last_weight(whole, entropy)} if _joins_labels(whole, entropy) else set()
        trained = _trained_by(whole, gradient_scope(root) or "")
        learns = any((len(logits) > 1 or one in joined) and one in trained for one, logits in layers.items())
        is_drawn = len(own) > 1 and any(_is_of_drawn_classes(whole, entropy) for entropy in own)
        label = labels.pop() if len(labels) == 1 else None
        if (learns or is_drawn) and label is not None:
            logits_of = "also of words or classes that a sampler draws" if is_drawn else "of one layer's output"
            yield Hazard(
                "LABELS_OF_ONE_CLASS",
                own[0].op,
                f"{counted(len(own), 'cross entropy', 'cross entropies')} of {targets[0]}, {logits_of}, "
                f"{plural(len(own), 'has only', 'all have')} the label {label:g}: "
                "the layer learns to predict that label for every example",
                "a discriminator has the labels 1 for real and 0 for generated examples; for parity keep them",
            )
            return


def _is_of_drawn_classes(whole: WholeGraph, entropy: CrossEntropy) -> bool:
    """Whether logits are of classes that a sampler draws, as words that do not follow beside those that do."""
    before = whole.graph.ancestors([entropy.logits.node], controls=False)
    return any(whole.graph.type(name).endswith("CandidateSampler") for name in before)


def _joins_labels(whole: WholeGraph, entropy: CrossEntropy) -> bool:
    """Whether the labels of a cross entropy are joined of several parts, as of two domains, along the examples."""
    name = source_of_elements(whole.graph, entropy.labels).node
    join = join_of(whole.graph, name)
    return join is not None and len(join.parts) > 1 and whole.value(join.axis.node) == 0


def _is_of_differences(whole: WholeGraph, entropy: CrossEntropy) -> bool:
    """Whether logits are differences of two results of weights, as of pairs of which the first is the better one."""
    name = source_of_elements(whole.graph, entropy.logits).node
    inputs = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Sub" else []
    return bool(inputs) and all(before in made_by_weights(whole) for before in inputs)


def _last_weight(whole: WholeGraph, entropy: CrossEntropy) -> str:
    """The variable by which the last layer before some logits multiplies; "" if there is none."""
    level, seen = [entropy.logits.node], {entropy.logits.node}
    while level:
        for name in level:
            if whole.graph.type(name) in _LAYERS:
                before = whole.graph.ancestors([t.node for t in whole.graph.inputs(name)[1:2]], controls=False)
                variables = sorted(node for node in before if whole.graph.type(node) in op_types.VARIABLES)
                return variables[0] if variables else ""
        level = [t.node for name in level for t in whole.graph.inputs(name) if t.node not in seen]
        seen.update(level)
    before = whole.graph.ancestors([entropy.logits.node], controls=False)
    return next(iter(sorted(before & whole.trainable)), "")  # products of rows that are looked up


def _trained_by(whole: WholeGraph, scope: str) -> set[str]:
    """Variables whose updates take gradients of one gradient graph."""
    reached = whole.graph.descendants([name for name in whole.graph.nodes if name.startswith(scope)], controls=False)
    return {whole.variable_of(apply) or "" for apply in whole.applies if apply in reached}
