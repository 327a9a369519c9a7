"""Hazards of inputs: targets that no loss uses, dropout that keeps the wrong share, or all, switches that are off."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph, is_scalar_placeholder
from legacy.saved.folding.settings import TRAINING, chooses_optimizer
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.dropout import kept_share
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.left_targets import TARGETS, is_left_over
from legacy.saved.inputs.settings import gives_sizes_alone
from workloads.lifted.graph import Graph, TensorId

#: Names of placeholders that serve another purpose than training.
NOT_FOR_TRAINING = re.compile(r"(?i)(test|val|eval|valid|dev|infer|predict|sample)")
#: Names of placeholders of masks and of the ends of episodes, which a loss that ignores them has no other use for.
MASKS = re.compile(r"(?i)(^|[/_])(masks?|dones?|terminals?|not_done)(_ph|_placeholder)?(_\d+)?$")
SPLITS = ("Split", "SplitV", "Unpack")
#: The name of the copy that a dropout layer makes of its input, and the scope of the layer.
_COPY_OF_DROPOUT = re.compile(r"(?i)((?:.*/)?dropout(?:_\d+)?/)Identity$")
#: Dropout that keeps a smaller share than this is taken for a rate in the place of a keep probability. Large language
#: models of the time keep 0.35 (Zaremba et al. 2014); 0.25, 0.2 and 0.1 are more often drop rates that
#: were given as keep probabilities.
LEAST_KEPT = 0.3


def unused_targets(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds targets, and towers' parts of a batch, that no gradient depends on."""
    if not whole.applies:
        return
    graph = whole.graph
    for name in graph.nodes:
        kind = graph.type(name)
        if kind.startswith("Placeholder") and name not in whole.reach and not _is_size(whole, name):
            is_mask = MASKS.search(name) and not _feeds_model(whole, name)
            is_target = (TARGETS.search(name) or is_mask) and not NOT_FOR_TRAINING.search(name)
            if is_target and not is_left_over(whole, name):
                yield _unused(name, f"{name} enters the graph, and no gradient depends on it")
        elif name in whole.reach and _deals_examples(whole, name):
            idle = _idle_outputs(whole, name)
            if idle and not all(_idle_outputs(whole, other) for other in _splits(whole)):
                source = _source(whole, name)
                listed = ", ".join(map(str, idle))
                yield _unused(name, f"{source} is split by {name}, and no gradient depends on part {listed}")
        elif op_types.is_source(kind) and name in whole.reach:
            idle = _idle_components(whole, name)
            if idle:
                text = ", ".join(f"{name}:{output}" for output in idle)
                yield _unused(name, f"{text} comes with each batch of {kind}, and no gradient depends on it")


def _feeds_model(whole: WholeGraph, name: str) -> bool:
    """Whether weights meet what follows from a placeholder: a copy of the model, such as one that acts, uses it."""
    after = whole.graph.descendants([name], controls=False) - {name}
    return bool(after) and bool(whole.graph.ancestors(after, controls=False) & whole.trainable)


def _unused(op: str, text: str) -> Hazard:
    advice = "check which target the loss uses; for parity with the old program leave it as it is"
    return Hazard("TARGET_UNUSED", op, text, advice)


def _is_size(whole: WholeGraph, name: str) -> bool:
    """Whether a placeholder is a number, is empty, or tells sizes, as of a sparse tensor, whose values are the target.

    A network without classes may take labels of size 0.
    """
    attributes = whole.graph.nodes[name].attr
    shapes = [attributes["shape"].shape, *attributes["_output_shapes"].list.shape]
    if any(dimension.size == 0 for shape in shapes for dimension in shape.dim):
        return True
    base, _, part = name.rpartition("/")
    is_shape = part == "shape" and all(f"{base}/{other}" in whole.graph.nodes for other in ("indices", "values"))
    return is_shape or gives_sizes_alone(whole.graph, name) or is_scalar_placeholder(whole.graph, name)


def _deals_examples(whole: WholeGraph, name: str) -> bool:
    """Whether a node splits a batch of data into parts of its examples, before any model."""
    if whole.graph.type(name) not in SPLITS or name not in whole.data or _axis(whole, name) != 0:
        return False
    before = whole.graph.ancestors([name], controls=False)
    if any(whole.graph.type(node) in op_types.VARIABLES for node in before):
        return False
    return whole.count < 2 or not _is_of_one_tower(whole, before - {name})


def _is_of_one_tower(whole: WholeGraph, before: Collection[str]) -> bool:
    """Whether what is split is dealt already, or brought for one tower alone, as where it holds pairs of examples."""
    graph = whole.graph
    sources = [name for name in before if op_types.is_source(graph.type(name))]
    takers = whole.towers_of(graph.descendants(sources, controls=False) & whole.reach)
    return len(takers) == 1 or any(graph.type(name) in SPLITS and _axis(whole, name) == 0 for name in before)


def _axis(whole: WholeGraph, name: str) -> float | None:
    """The dimension along which a node splits; None where it is not a constant."""
    kind, inputs = whole.graph.type(name), whole.graph.inputs(name)
    if kind == "Unpack":
        return whole.graph.nodes[name].attr["axis"].i
    return whole.value(inputs[0 if kind == "Split" else 2].node) if inputs else None


def _used_outputs(whole: WholeGraph, name: str) -> set[int]:
    return {output for user, _, output in whole.graph.users(name) if user in whole.reach}


def _splits(whole: WholeGraph) -> list[str]:
    """Nodes that deal data to the towers. If each has a part that is not used, a whole tower is left out."""
    return [name for name in whole.graph.nodes if name in whole.reach and _deals_examples(whole, name)]


def _idle_outputs(whole: WholeGraph, name: str) -> list[int]:
    """The parts that no gradient depends on, also where each tower splits the batch by an op of its own."""
    attributes = whole.graph.nodes[name].attr
    count = attributes["num_split"].i or attributes["num"].i
    used = set().union(*(_used_outputs(whole, other) for other in _splits_alike(whole, name)))
    return sorted(set(range(count)) - used)


def _splits_alike(whole: WholeGraph, name: str) -> list[str]:
    """The ops, `name` among them, that split tensors made alike of the same data by the same op type, as often."""
    graph = whole.graph
    kind, key = graph.type(name), "num" if graph.type(name) == "Unpack" else "num_split"
    at = op_types.divided_input(kind)
    source, count = graph.inputs(name)[at], graph.nodes[name].attr[key].i
    alike = [n for n in graph.of_types(kind) if graph.nodes[n].attr[key].i == count]
    made_of = _made_of(graph, source)
    return [n for n in alike if graph.inputs(n)[at] == source or _made_of(graph, graph.inputs(n)[at]) == made_of]


def _made_of(graph: Graph, tensor: TensorId) -> tuple[int, list[str], list[str]]:
    """The number of a node's output, the types of all ops before it, and the data sources among them."""
    before = graph.ancestors([tensor.node], controls=False)
    kinds = sorted(map(graph.type, before))
    return tensor.output, kinds, sorted(name for name in before if op_types.is_source(graph.type(name)))


def _idle_components(whole: WholeGraph, name: str) -> list[int]:
    """Outputs of a data source that meet the model and no gradient depends on: targets that only a metric uses.

    Texts, such as names of files, are no targets; nor is what is split and transposed and then left.
    """
    others = [(user, output) for user, _, output in whole.graph.users(name) if user not in whole.reach]
    used = {output for user, output in others if _meets_model(whole, user)}
    attributes = whole.graph.nodes[name].attr
    types = attributes["component_types"].list.type or attributes["output_types"].list.type
    texts = {output for output, dtype in enumerate(types) if dtype == tf.string.as_datatype_enum}
    return sorted(used - texts - _used_outputs(whole, name)) if _used_outputs(whole, name) else []


def _meets_model(whole: WholeGraph, name: str) -> bool:
    """Whether a node, or one that follows from it, also takes what is computed from weights."""
    after = whole.graph.descendants([name], controls=False) | {name}
    return bool(whole.graph.ancestors(after, controls=False) & whole.trainable)


def _source(whole: WholeGraph, name: str) -> str:
    """The nearest source of data that a node's batch comes from."""
    todo, seen = [name], {name}
    while todo:
        node = todo.pop(0)
        if op_types.is_source(whole.graph.type(node)):
            return node
        for before, _ in whole.graph.inputs(node):
            if before not in seen:
                seen.add(before)
                todo.append(before)
    return name


def kept_for_dropped(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds dropout that keeps very little, or whose placeholder is named after the other probability."""
    seen: set[float | str] = set()
    for name, tensor, is_rate in dropouts(whole):
        kept, label = whole.value(tensor.node), _placeholder(whole, tensor)
        if kept is not None:
            kept = 1 - kept if is_rate else kept
            if kept < LEAST_KEPT and kept not in seen:
                seen.add(kept)
                yield _keep_hazard(name, f"{name} keeps only {kept:.0%} of its input")
        elif label is not None and label not in seen:
            own = label.rpartition("/")[2]
            says_rate = bool(re.search(r"(?i)drop|rate", own)) and not re.search(r"(?i)keep", own)
            says_keep = bool(re.search(r"(?i)keep", own))
            if (says_rate and not is_rate) or (says_keep and is_rate):
                seen.add(label)
                use = "dropped" if is_rate else "kept"
                yield _keep_hazard(name, f"{label} is the share of {name}'s input that is {use}")


def inactive_dropout(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds dropout that drops nothing, always or as it is fed; one hazard for all of it.

    One that drops nothing unless it is fed is none: a program feeds it where it trains.
    """
    advice = "a port without this dropout trains alike; if it was meant to drop, feed or set its probability"
    for name, tensor, is_rate in dropouts(whole):
        constant, label = whole.value(tensor.node), _placeholder(whole, tensor)
        is_fed = constant is None and label in whole.settings
        share = whole.settings.get(label or "") if is_fed else constant
        if share == (0 if is_rate else 1):
            text = f"{name} drops nothing{f' as {label} is fed' if is_fed else ''}: the share that it keeps is 1"
            yield Hazard("DROPOUT_INACTIVE", name, text, advice)
            return
    handing_on = [name for name in whole.graph.nodes if name in whole.reach and _is_layer_without_training(whole, name)]
    if handing_on:
        text = f"{handing_on[0]} hands its input on: tf.layers.dropout drops nothing unless it is given training=True"
        advice = "a port without this dropout trains alike; if it was meant to drop, give the layer training=True"
        yield Hazard("DROPOUT_INACTIVE", handing_on[0], text, advice)


def _is_layer_without_training(whole: WholeGraph, name: str) -> bool:
    """Whether a node is the copy that a dropout layer makes of its input where it does not train."""
    layer = _COPY_OF_DROPOUT.match(name)
    if layer is None or whole.graph.type(name) != "Identity":
        return False
    return not whole.graph.inputs(name)[0].node.startswith(layer.group(1))


def dropouts(whole: WholeGraph) -> Iterator[tuple[str, TensorId, bool]]:
    """Yields the dropout of the step.

    Args:
      whole: the graph.

    Yields:
      (node by which it decides, tensor of its share, whether that is a rate).
    """
    for name in whole.graph.nodes:
        share = kept_share(whole, name) if name in whole.reach and "drop" in name.lower() else None
        if share is not None:
            yield (name, *share)


def _keep_hazard(op: str, text: str) -> Hazard:
    advice = "tf.nn.dropout of 1.x takes the share that it keeps, that of 2.x the share that it drops"
    return Hazard("KEEP_FOR_RATE", op, text, advice)


def _placeholder(whole: WholeGraph, tensor: TensorId) -> str | None:
    """The scalar placeholder that a tensor is a copy of, also in a branch as of `tf.layers.dropout`, or None."""
    name = whole.graph.before_branches(tensor).node
    return name if whole.graph.type(name).startswith("Placeholder") else None


def switched_off(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds booleans such as is_training that are false, as they were fed or recorded, in a step that trains."""
    for name, value in whole.settings.items():
        if (
            value is False
            and name in whole.members
            and TRAINING.search(name)
            and not chooses_optimizer(whole.graph, name)
        ):
            yield Hazard(
                "TRAINS_AS_IN_EVALUATION",
                name,
                f"{name} is false in the training step: dropout and normalization by it run as in evaluation",
                "for parity leave it as it is; if it was forgotten, feed true in training",
            )
