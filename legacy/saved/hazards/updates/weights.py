"""Hazards of weights: layers that begin with zeros, weights drawn anew in each step, or trained in half precision."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import copied_variable
from legacy.saved.hazards.basics.beginnings import begins_with_zeros
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import READS, variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.plan import Effect
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: Products whose second input is a layer's weight.
#: Ops on the way from one layer to the next that keep all units equal if they are.
BETWEEN = (
    *READS,
    "Add",
    "AddV2",
    "BiasAdd",
    "Relu",
    "Relu6",
    "Elu",
    "Tanh",
    "Sigmoid",
    "Reshape",
    "MaxPool",
    "AvgPool",
)
#: Ops by which random numbers, as an initializer draws them, become the values of a weight.
_DRAWN_BY = ("Identity", "Cast", "Reshape", "Mul", "Add", "AddV2", "Sub", *op_types.QUOTIENTS)
#: Floating-point types of few bits.
HALF = {tf.float16.as_datatype_enum: "float16", tf.bfloat16.as_datatype_enum: "bfloat16"}


def layers_of_zeros(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds two layers, one after the other, whose trained weights both begin with zeros; one hazard for all."""
    graph = whole.graph
    layers = {name: weight_of(whole, name) for name in graph.nodes if name in whole.minimized}
    zeros = {
        name: weight
        for name, weight in layers.items()
        if weight in whole.trainable and begins_with_zeros(whole, weight)
    }
    pairs = {name: before for name in zeros for before in [layer_before(whole, name)] if before in zeros}
    if pairs:
        name, before = next(iter(pairs.items()))
        weights = list(dict.fromkeys([zeros[before], *[zeros[other] for other in pairs]]))
        yield Hazard(
            "LAYERS_OF_ZEROS",
            name,
            f"the weights of {counted(len(weights), 'layer')} one after the other begin with zeros "
            f"({listed(weights, FEW)}): all units of a layer stay equal, and unless a checkpoint is loaded, "
            "gradients of both are 0",
            "give them random values; for parity, begin with the old checkpoint's",
        )


def weight_of(whole: WholeGraph, layer: str) -> str:
    """Returns the variable that a layer multiplies by; "" for any other node."""
    if whole.graph.type(layer) not in op_types.LAYERS:
        return ""
    return variable_read(whole.graph, whole.graph.inputs(layer)[1].node)


def layer_before(whole: WholeGraph, layer: str) -> str:
    """Returns the layer whose output a layer takes, by way of biases and activations alone; "" if there is none."""
    graph, name = whole.graph, whole.graph.inputs(layer)[0].node
    while graph.type(name) in BETWEEN and graph.inputs(name):
        computed = [tensor.node for tensor in graph.inputs(name) if tensor.node in whole.data]
        if len(computed) != 1:
            return ""
        name = computed[0]
    return name if graph.type(name) in op_types.LAYERS else ""


def weights_drawn_anew(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds layers whose weight is drawn anew in every step, since it is no variable; one hazard for all."""
    graph = whole.graph
    drawn = [name for name in graph.nodes if name in whole.minimized and _is_drawn(whole, name)]
    tables = [name for name in whole.minimized_ops("Gather", "GatherV2") if _is_drawn_table(whole, name)]
    for name in (drawn + tables)[:1]:
        does = f"takes rows of {graph.inputs(name)[0].node}" if name in tables else "multiplies by "
        does += "" if name in tables else graph.inputs(name)[1].node
        yield Hazard(
            "WEIGHT_DRAWN_ANEW",
            name,
            f"{name} ({graph.type(name)}) {does}, random numbers that are drawn again in every step: they are no "
            "variable, and nothing trains them",
            "make a variable of it; for parity, draw the same numbers in each step",
        )


def _is_drawn(whole: WholeGraph, layer: str) -> bool:
    """Whether a layer multiplies data by random numbers as an initializer draws them: scaled and shifted at most.

    Directions of length 1 are projections, as of a sliced distance; a transposed factor has a row for each of the
    samples that the data are compared with; and a triangular factor gives noise its covariance.
    """
    graph = whole.graph
    if graph.type(layer) not in op_types.LAYERS or graph.nodes[layer].attr["transpose_b"].b:
        return False
    entered, weight = (tensor.node for tensor in graph.inputs(layer)[:2])
    if not _is_as_initialized(whole, weight):
        return False
    kinds = {graph.type(name) for name in graph.ancestors([entered], controls=False)}
    return any(map(op_types.is_source, kinds)) and graph.type(graph.origin(TensorId(entered, 0)).node) != "Cholesky"


def _is_as_initialized(whole: WholeGraph, weight: str) -> bool:
    """Whether a node holds random numbers, scaled and shifted at most."""
    graph = whole.graph
    while graph.type(weight) in _DRAWN_BY and not op_types.is_random(graph.type(weight)):
        inputs = graph.inputs(weight)[: 1 if graph.type(weight) == "Reshape" else 2]
        varying = [tensor.node for tensor in inputs if whole.value(tensor.node) is None]
        if len(varying) != 1:
            return False
        weight = varying[0]
    return op_types.is_random(graph.type(weight))


def _is_drawn_table(whole: WholeGraph, lookup: str) -> bool:
    """Whether words of data are looked up in random numbers of a constant size, of which a layer takes the rows.

    Random rows that are added to others, or multiply them, are noise, of which some examples have the same.
    """
    graph = whole.graph
    table, words = (tensor.node for tensor in graph.inputs(lookup)[:2])
    if is_gradient_op(lookup) or words not in whole.data or not _is_as_initialized(whole, table):
        return False
    sizes = [name for name in graph.ancestors([table], controls=False) if op_types.is_random(graph.type(name))]
    if any(graph.type(graph.inputs(name)[0].node) != "Const" for name in sizes if graph.inputs(name)):
        return False
    todo = [lookup]
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if not is_gradient_op(use.node)]:
            kind = graph.type(user)
            if kind in (*op_types.ADDITIONS, "Sub", "Mul", "Select", "SelectV2"):
                return False
            if kind in ("Identity", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Cast"):
                todo.append(user)
    return True


def weights_in_half_precision(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds variables of 16 bits that updates change: small changes of large weights are lost; one hazard for all.

    Copies of float32 weights, which the updates change in their place, lose nothing.
    """
    trained = [name for name in whole.applies if copied_variable(whole.graph, name) is None]
    updated = list(dict.fromkeys(whole.variable_of(name) or "" for name in trained))
    dtypes = {name: whole.graph.nodes[name].attr["dtype"].type for name in updated if name in whole.graph.nodes}
    half = [name for name, dtype in dtypes.items() if dtype in HALF]
    if half:
        yield Hazard(
            "WEIGHTS_IN_HALF_PRECISION",
            half[0],
            f"{counted(len(half), 'trained variable is', 'trained variables are')} {HALF[dtypes[half[0]]]} "
            f"({listed(half, FEW)}): a change of less than 1/2000 of a weight is lost in the update",
            "keep weights in float32 and cast them where they are used; for parity keep the type",
        )


def clipped_weights_of_others(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds runs that bound weights of a train op and those of another one besides; one hazard for all."""
    rules = found.context.state.rules
    trainers = {
        effect.writes[0]: phase.train_op
        for phase in found.plan.phases
        for effect in phase.effects
        if effect.node in rules
    }
    for phase in found.plan.phases:
        bounded = {effect.writes[0]: effect.node for effect in phase.effects if _bounds_itself(whole, effect)}
        by_trainer: dict[str, list[str]] = {}
        for variable in bounded:
            if variable in trainers:
                by_trainer.setdefault(trainers[variable], []).append(variable)
        others = [name for trainer, names in by_trainer.items() if trainer != phase.train_op for name in names]
        if len(by_trainer) > 1 and others:
            trained_by = listed(sorted(set(by_trainer) - {phase.train_op}), FEW)
            yield Hazard(
                "WEIGHTS_OF_OTHERS_CLIPPED",
                bounded[others[0]],
                f"{phase.train_op} bounds {counted(len(bounded), 'weight')} by constants, of which "
                f"{counted(len(others), 'is', 'are')} trained by {trained_by} "
                f"({listed(others, FEW)})",
                "bound the weights of the critic alone; for parity bound all",
            )
            return


def _bounds_itself(whole: WholeGraph, effect: Effect) -> bool:
    """Whether a change sets a weight to its own value between constants."""
    graph, variable = whole.graph, effect.writes[0]
    if variable not in whole.trainable or effect.op not in op_types.SETS:
        return False
    name, kinds = graph.inputs(effect.node)[1].node, set()
    while graph.type(name) in ("Minimum", "Maximum", "ClipByValue", "Identity") and not variable_read(graph, name):
        kinds.add(graph.type(name))
        inputs = [tensor.node for tensor in graph.inputs(name)]
        name = next((before for before in inputs if whole.value(before) is None), inputs[0])
    return bool(kinds & {"Minimum", "Maximum", "ClipByValue"}) and variable_read(graph, name) == variable
