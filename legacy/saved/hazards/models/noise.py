"""Hazards of noise: Gumbel noise without its sign, one draw for all examples, noise that is never negative."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def gumbel_noise(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds log(-log(u)) of uniform random numbers that is added as it is, -log(-log(u)) being meant; one for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Log"):
        negative = _past_constants(whole, graph.inputs(name)[0].node)
        inner = _past_constants(whole, graph.inputs(negative)[0].node) if graph.type(negative) == "Neg" else ""
        if not inner or graph.type(inner) != "Log":
            continue
        drawn = _past_constants(whole, graph.inputs(inner)[0].node)
        while graph.type(drawn) in ("Mul", "Add", "AddV2") and graph.inputs(drawn):  # as tf.random_uniform scales it
            drawn = graph.inputs(drawn)[0].node
        if graph.type(drawn) == "RandomUniform" and _is_added(whole, name):
            yield Hazard(
                "GUMBEL_SIGN",
                name,
                f"{name} is log(-log(u)) of uniform random numbers, and is added without a minus sign: this is not "
                "Gumbel noise, and samples do not follow the probabilities",
                "use -log(-log(u)); for parity keep it",
            )
            return


def _past_constants(whole: WholeGraph, name: str) -> str:
    """The node before small numbers that are added to it."""
    graph = whole.graph
    while graph.type(name) in ("Identity", *op_types.ADDITIONS):
        inputs = [tensor.node for tensor in graph.inputs(name)]
        others = [before for before in inputs if whole.value(before) is None]
        if len(others) != 1:
            return name
        name = others[0]
    return name


def _is_added(whole: WholeGraph, name: str) -> bool:
    """Whether all forward ops that use a node, past added numbers, add it to something else."""
    graph, todo, kinds = whole.graph, [name], set()
    while todo:
        node = todo.pop()
        for user in [use.node for use in graph.users(node)]:
            if is_gradient_op(user) or user not in whole.minimized:
                continue
            inputs = [tensor.node for tensor in graph.inputs(user)]
            is_copy = graph.type(user) in ("Identity", *op_types.ADDITIONS)
            if is_copy and sum(whole.value(before) is None for before in inputs) == 1:
                todo.append(user)
            else:
                kinds.add(graph.type(user) in op_types.ADDITIONS)
    return kinds == {True}


def noise_of_one_example(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds normal noise of one example that a deviation of each example multiplies; one hazard for all."""
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Mul") if name in graph.nodes and not is_gradient_op(name)]:
        if not all(tensor.node in whole.graph.nodes for tensor in graph.inputs(name)):
            continue  # of what the analysis put in place of other nodes
        for noise, deviation in zip(graph.inputs(name), reversed(graph.inputs(name))):
            drawn, scale = imported.shape(*noise), imported.shape(*deviation)
            is_drawn = whole.graph.type(_past_scale(whole, noise.node)) == "RandomStandardNormal"
            is_one = _has_one_row(drawn or (), scale or (), found.plan.batch)
            if is_drawn and is_one and _is_deviation(whole, deviation.node):
                yield Hazard(
                    "NOISE_OF_ONE_EXAMPLE",
                    name,
                    f"{name} multiplies the standard deviations of a tower's examples by {noise.node} of shape "
                    f"{list(drawn or ())}: all examples get the same random numbers",
                    "draw numbers of the shape of the standard deviations; for parity keep it",
                )
                return


def _has_one_row(drawn: Sequence[int | None], scale: Sequence[int | None], batch: int | None) -> bool:
    """Whether noise has one row for all examples, and a deviation a row for each.

    >>> _has_one_row([6], [4, 6], 4), _has_one_row([1, 6], [None, 6], None), _has_one_row([4, 6], [4, 6], 4)
    (True, True, False)
    >>> _has_one_row([6], [2, 6], 4)
    False

    Noise with more dimensions than the deviation, as a distribution draws it, has samples before the examples.

    >>> _has_one_row([1, None, None], [None, 6], None), _has_one_row([5, 1, 6], [4, 6], 4)
    (False, True)
    """
    is_of_examples = len(scale) > 1 and scale[0] == batch and scale[0] != 1
    return is_of_examples and (len(drawn) < len(scale) or drawn[-len(scale)] == 1) and bool(drawn)


def _past_scale(whole: WholeGraph, name: str) -> str:
    """The random op behind a constant scale and mean, as `tf.random_normal` writes them."""
    graph = whole.graph
    while graph.type(name) in ("Identity", "ExpandDims", "Mul", *op_types.ADDITIONS):
        others = [t.node for t in graph.inputs(name)[:2] if whole.value(t.node) is None]
        if len(others) != 1:
            return name
        name = others[0]
    return name


def _is_deviation(whole: WholeGraph, name: str) -> bool:
    """Whether a node is positive by its last op, and computed from data with trained weights."""
    graph = whole.graph
    while graph.type(name) in ("Identity", *op_types.ADDITIONS):
        others = [t.node for t in graph.inputs(name)[:2] if whole.value(t.node) is None]
        if len(others) != 1:
            return False
        name = others[0]
    is_positive = graph.type(name) in ("Exp", "Sqrt", "Softplus")
    return is_positive and name in whole.data and bool(graph.ancestors([name], controls=False) & whole.trainable)


def noise_of_one_sign(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds m + s * u of a mean, a deviation and uniform numbers that are never negative; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name)]:
        for noise, deviation in zip(graph.inputs(name), reversed(graph.inputs(name))):
            drawn, factor, offset = linear_source(whole, noise.node)
            low = offset + min(factor, 0.0)
            if graph.type(drawn) != "RandomUniform" or low < 0 or not _is_deviation(whole, deviation.node):
                continue
            if any(_is_code(whole, mean) for mean in _means_of(whole, name)):
                yield Hazard(
                    "NOISE_NEVER_NEGATIVE",
                    name,
                    f"{name} multiplies the deviations {deviation.node} by {noise.node}, uniform numbers from {low:g} "
                    f"to {offset + max(factor, 0.0):g}, and is added to a mean: samples are never below the "
                    "mean, where a code has normal noise, of both signs",
                    "draw normal numbers; for parity keep it",
                )
                return


def codes_of_one_sign(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds m + exp(s) * noise whose mean m or logarithm s is the result of a ReLU, the default of some layers."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name)]:
        for noise, deviation in zip(graph.inputs(name), reversed(graph.inputs(name))):
            is_drawn = graph.type(_past_scale(whole, noise.node)) == "RandomStandardNormal"
            if not is_drawn or graph.type(deviation.node) != "Exp" or not _is_deviation(whole, deviation.node):
                continue
            means = [mean for mean in _means_of(whole, name) if _is_code(whole, mean)]
            logarithm = linear_source(whole, graph.inputs(deviation.node)[0].node)[0]
            given = [graph.origin(TensorId(one, 0)).node for one in (*means, logarithm)]
            rectified = [one for one in given if graph.type(one) == "Relu"]
            if means and rectified:
                moment = "logarithm of the deviation" if rectified[0] == given[-1] else "mean"
                yield Hazard(
                    "CODE_RECTIFIED",
                    rectified[0],
                    f"{rectified[0]}, the {moment} of a code to which {name} adds noise, is the result of a ReLU: it "
                    "is never negative, and has no gradient where it is 0",
                    "no activation, as by activation_fn=None; for parity keep it",
                )
                return


def _is_mean_plus(whole: WholeGraph, name: str, noise: str) -> bool:
    """Whether a forward op adds noise to what weights make of data."""
    if is_gradient_op(name) or whole.graph.type(name) not in op_types.ADDITIONS or name not in whole.minimized:
        return False
    others = [tensor.node for tensor in whole.graph.inputs(name) if tensor.node != noise]
    return len(others) == 1 and others[0] in made_by_weights(whole) and others[0] in whole.data


def _means_of(whole: WholeGraph, noise: str) -> list[str]:
    """The means to which scaled noise is added."""
    sums = [use.node for use in whole.graph.users(noise) if _is_mean_plus(whole, use.node, noise)]
    return [tensor.node for one in sums for tensor in whole.graph.inputs(one) if tensor.node != noise]


def _is_code(whole: WholeGraph, mean: str) -> bool:
    """Whether a loss has squares of a mean, as the divergence of a code from a normal distribution does."""
    graph, todo, seen = whole.graph, [mean], {mean}
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]:
            if graph.type(user) in ("SquaredDifference", "L2Loss") or squared(whole, user) is not None:
                return True
            if user not in seen and linear_source(whole, user)[0] != user and not is_gradient_op(user):
                seen.add(user)
                todo.append(user)
    return False
