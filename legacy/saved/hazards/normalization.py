"""Hazards of batch normalization by fixed statistics, by moments without a gradient, or otherwise in some towers."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.beginnings import first_value
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted


def fixed_statistics(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds layers of the step that are trained and normalize by variables that nothing changes; one hazard for all.

    Layers whose scale and offset are not trained either are meant to stay, as those of a pretrained network. So are
    those behind a layer whose weights nothing changes: such weights, and all else of that network, were loaded. A layer
    without a scale is one of trained weights if such weights come before it, an offset that it has is trained, and its
    statistics begin with 0 and 1.
    """
    changed = set(whole.writes.values())
    behind = whole.graph.descendants(_layers_of_kept_weights(whole, changed | whole.trainable), controls=False)
    fixed: dict[str, str] = {}
    for name in whole.graph.nodes:
        variance, parameters = _normalization(whole, name) if name in whole.reach else ("", set())
        is_fixed = bool(variance) and variance not in changed | whole.trainable
        if not is_fixed or behind & {name, *_products(whole, name)}:
            continue
        if parameters & whole.trainable or _is_of_weights(whole, name, variance, changed):
            fixed.setdefault(variance, name)
    for variance, name in fixed.items():
        layers = counted(len(fixed), "layer normalizes", "layers normalize")
        yield Hazard(
            "STATISTICS_FIXED",
            name,
            f"{layers} by statistics that nothing in the graph changes, such as {variance}: unless loaded, they "
            "are first values, such as a mean of 0 and a variance of 1, and nothing is normalized",
            "keep it for parity; if the argument training=True was forgotten, a new program gives it and updates them",
        )
        return


def _is_of_weights(whole: WholeGraph, name: str, variance: str, changed: Collection[str]) -> bool:
    """Whether a node normalizes what trained weights compute by a mean and a variance as they begin, and by no others.

    Args:
      whole: the graph.
      name: of the op that normalizes.
      variance: the variable that it takes for the variance.
      changed: variables that an op of the graph changes.
    """
    graph, inputs = whole.graph, whole.graph.inputs(name)
    if graph.type(name) == "Rsqrt":
        products = [use.node for use in graph.users(name) if graph.type(use.node) == "Mul"]
        factors = [tensor for product in products for tensor in graph.inputs(product) if tensor.node != name]
        sums = [use.node for product in products for use in graph.users(product) if graph.type(use.node) == "Sub"]
        others = [tensor for node in sums for tensor in graph.inputs(node)]  # offset - mean / s
    else:
        factors, others = [inputs[0], inputs[3]], inputs[1:3]
    if {_variable(whole, tensor) for tensor in others} - {""} - whole.trainable:
        return False
    negated = [tensor for tensor in factors if graph.type(tensor.node) == "Neg"]  # x / s + (-mean / s)
    factors = [graph.inputs(tensor.node)[0] if tensor in negated else tensor for tensor in factors]
    means = {_variable(whole, tensor) for tensor in factors} - {""}
    data = [tensor.node for tensor in factors if not _variable(whole, tensor) and not is_gradient_op(tensor.node)]
    if len(means) != 1 or means & {*changed, *whole.trainable}:
        return False
    begins = [first_value(whole, variable) for variable in (*means, variance)]
    return begins == [0, 1] and bool(graph.ancestors(data, controls=False) & whole.trainable)


def _layers_of_kept_weights(whole: WholeGraph, changed: Collection[str]) -> list[str]:
    """The convolutions and products of matrices by variables of several numbers that nothing changes."""
    graph = whole.graph
    layers = [name for name in whole.minimized_ops(*op_types.LAYERS) if not is_gradient_op(name)]
    weights = {name: variable_read(graph, graph.inputs(name)[1].node, READS_IN_BRANCHES) for name in layers}
    return [name for name, weight in weights.items() if weight and weight not in changed]


def _products(whole: WholeGraph, name: str) -> set[str]:
    """The products with a scale that a formula makes of 1 / sqrt(variance): times gamma, and times the data."""
    graph, names = whole.graph, {name}
    for _ in range(2):
        names |= {use.node for one in names for use in graph.users(one) if graph.type(use.node) == "Mul"}
    return names - {name}


def normalized_in_some_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds layers that normalize by the batch's moments in some towers, and by variables in others; one for all."""
    by_batch: dict[str, dict[int, str]] = collections.defaultdict(dict)
    by_variable: dict[str, dict[int, str]] = collections.defaultdict(dict)
    for name in whole.minimized_ops("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "Rsqrt"):
        tower = _tower(whole, name)
        if tower is not None and whole.count > 1 and not is_gradient_op(name):
            variance, parameters = _normalization(whole, name)
            if not variance:
                parameters = _parameters(whole, name)
            for parameter in parameters & whole.trainable:
                (by_variable if variance else by_batch)[parameter][tower] = name
    found = {
        name: (towers, by_variable[name])
        for name, towers in by_batch.items()
        if len({*towers, *by_variable[name]}) == whole.count
        and by_variable[name]
        and not {*towers} & {*by_variable[name]}
    }
    for batch, variables in found.values():
        layers = {name for towers, _ in found.values() for name in towers.values()}
        yield Hazard(
            "NORMALIZED_BY_BATCH_IN_SOME_TOWERS",
            next(iter(variables.values())),
            f"{counted(len(layers) // len(batch), 'layer normalizes', 'layers normalize')} by the moments of the batch "
            f"in {listed_towers(list(batch))}, and by moving statistics in {listed_towers(list(variables))}, as by "
            f"{next(iter(variables.values()))}: the towers train different functions",
            "training=True on every replica, and the statistics of one or all of them; for parity keep the difference",
        )
        return


def _tower(whole: WholeGraph, name: str) -> int | None:
    """The tower of a node, or else of the nodes that use it: what is computed from variables alone has no tower."""
    users = [name]
    for _ in range(3):
        towers = whole.towers_of(users)
        if towers:
            return towers.pop() if len(towers) == 1 else None
        users = [use.node for user in users for use in whole.graph.users(user) if not is_gradient_op(use.node)]
    return None


def _parameters(whole: WholeGraph, name: str) -> set[str]:
    """The variables that are scale and offset of a node that normalizes by the moments of its batch."""
    graph, inputs = whole.graph, whole.graph.inputs(name)
    if graph.type(name).startswith("FusedBatchNorm"):
        return {_variable(whole, tensor) for tensor in inputs[1:3]}
    scaled = [use.node for use in graph.users(name) if graph.type(use.node) == "Mul"]
    return {_variable(whole, tensor) for node in scaled for tensor in graph.inputs(node)}


def _normalization(whole: WholeGraph, name: str) -> tuple[str, set[str]]:
    """(variable that is the variance, variables that are scale and offset) of a node that normalizes; ("", set())."""
    graph, inputs = whole.graph, whole.graph.inputs(name)
    if graph.type(name).startswith("FusedBatchNorm") and len(inputs) == 5:
        if graph.nodes[name].attr["is_training"].b:
            return "", set()
        return _variable(whole, inputs[4]), {_variable(whole, tensor) for tensor in inputs[1:3]}
    if graph.type(name) == "Rsqrt" and graph.type(inputs[0].node) in op_types.SUMS_OF_TWO:
        scaled = [use.node for use in graph.users(name) if graph.type(use.node) == "Mul"]
        return (
            _variable(whole, graph.inputs(inputs[0].node)[0]),
            {_variable(whole, tensor) for node in scaled for tensor in graph.inputs(node)},
        )
    return "", set()


def _variable(whole: WholeGraph, tensor: TensorId) -> str:
    """The variable whose value a tensor is, "" for any other tensor."""
    return variable_read(whole.graph, tensor.node, READS_IN_BRANCHES)


def stopped_moments(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds layers that normalize by a variance of their own batch whose gradient is stopped; one hazard for all.

    The variance itself is computed from a mean behind stop_gradient, as `tf.nn.moments` does.
    """
    graph = whole.graph
    stopped = {}
    for name in whole.minimized_ops("Rsqrt", "Sqrt"):
        total = graph.inputs(name)[0].node
        for tensor in graph.inputs(total) if graph.type(total) in op_types.SUMS_OF_TWO else []:
            variance = graph.origin(tensor).node
            if graph.type(variance) == "StopGradient" and _is_variance_of_layer(whole, variance):
                stopped[name] = variance
    for name, variance in stopped.items():
        yield Hazard(
            "MOMENTS_NOT_DIFFERENTIATED",
            name,
            f"{counted(len(stopped), 'op normalizes', 'ops normalize')} by a variance of the batch whose gradient "
            f"{variance} stops: weights before it are trained as if their scale did not change it",
            "batch normalization differentiates its moments; for parity keep stop_gradient",
        )
        return


def _is_variance_of_layer(whole: WholeGraph, name: str) -> bool:
    """Whether a node hands on the mean of squares of what trained weights compute."""
    graph = whole.graph
    while graph.type(name) in ("StopGradient", "Identity", "Reshape", "Squeeze"):
        name = graph.inputs(name)[0].node
    squares = graph.inputs(name)[0].node if graph.type(name) == "Mean" else ""
    is_square = graph.type(squares) in ("SquaredDifference", "Square") if squares else False
    return is_square and bool(graph.ancestors([squares], controls=False) & whole.trainable)
