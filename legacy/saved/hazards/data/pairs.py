"""Hazards of inputs that belong together, such as images and labels, and come from different examples."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph, is_scalar_placeholder
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.data.iterators import seeds_of_shuffles
from legacy.saved.hazards.data.random_numbers import draw_of
from workloads.lifted.graph import TensorId

#: Queues that hand out their elements in random order.
_SHUFFLING_QUEUES = ("RandomShuffleQueue", "RandomShuffleQueueV2")
#: Beginnings of the op types of queues that keep the order.
_QUEUES = ("FIFOQueue", "PaddingFIFOQueue")
#: Ops that compare predictions with labels; a product does if it is of logarithms.
_COMPARISONS = ("Mul", "Sub", "SquaredDifference")
_WHOLE_NUMBERS = {dtype.as_datatype_enum for dtype in (tf.uint8, tf.int32, tf.int64)}


def unpaired_inputs(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that join parts of different examples; of towers, in the first such loss."""
    for target in whole.targets:
        before = whole.graph.ancestors([target], controls=False)
        checks = (_taken_twice, _two_queues, _labels_of_another_shuffle, _shuffled_alone, _turned_apart)
        found = next((pair for pair in (check(whole, before) for check in checks) if pair is not None), None)
        if found is not None:
            op, text = found
            yield Hazard(
                "INPUTS_NOT_PAIRED",
                op,
                f"the loss {target} joins parts that do not belong together: {text}",
                "take all parts of an example from one dataset; shuffle and flip them together; parity needs the same",
            )
            return


def _taken_twice(whole: WholeGraph, before: Collection[str]) -> tuple[str, str] | None:
    """Two ops that take examples from one queue or iterator, each for another part of them."""
    takers: dict[str, list[tuple[str, set[int]]]] = {}
    for name in whole.graph.nodes:
        if name in before and op_types.is_source(whole.graph.type(name)) and whole.graph.inputs(name):
            parts = {output for user, _, output in whole.graph.users(name) if user in before}
            takers.setdefault(whole.graph.origin(whole.graph.inputs(name)[0]).node, []).append((name, parts))
    for source, ops in takers.items():
        for (one, parts), (other, others) in zip(ops, ops[1:]):
            if parts and others and parts.isdisjoint(others):
                kind = whole.graph.type(one)
                text = f"{one} and {other} ({kind}) each take from {source}"
                return other, f"{text}, one for part {min(parts)}, the other for part {min(others)}"
    return None


def _two_queues(whole: WholeGraph, before: Collection[str]) -> tuple[str, str] | None:
    """Two queues that shuffle, each for itself, different parts of what one op before them takes.

    Queues that take the same parts, as those of two towers do, give batches of whole examples.
    """
    graph = whole.graph
    queues: list[tuple[str, set[str]]] = []
    for name in graph.nodes:
        if name in before and graph.type(name).startswith("QueueDequeue"):
            queue = graph.origin(graph.inputs(name)[0]).node
            if graph.type(queue) in _SHUFFLING_QUEUES and queue not in [other for other, _ in queues]:
                queues.append((queue, _taken_for(whole, queue)))
    for (one, first), (other, second) in zip(queues, queues[1:]):
        if first & second and _parts(whole, one).isdisjoint(_parts(whole, other)):
            return other, f"{one} and {other} shuffle, each for itself, what {sorted(first & second)[0]} takes"
    return None


def _labels_of_another_shuffle(whole: WholeGraph, before: Collection[str]) -> tuple[str, str] | None:
    """Labels and logits of a cross entropy that come from two sources, each shuffled for itself."""
    for entropy in cross_entropies(whole):
        if entropy.op not in before:
            continue
        sides = [_sources(whole, tensor.node) for tensor in (entropy.labels, entropy.logits)]
        if any(len(side) != 1 for side in sides) or sides[0] == sides[1]:
            continue
        (labels,), (images,) = sides
        shuffles = [_shuffle_of(whole, source) for source in (labels, images)]
        if all(shuffles) and shuffles[0] != shuffles[1]:
            text = f"{entropy.op} takes labels from {labels} and logits made from {images}"
            return labels, f"{text}, each of which is shuffled for itself"
    return None


def _sources(whole: WholeGraph, name: str) -> set[str]:
    """The sources of data that a node is computed from, but for numbers that are fed."""
    graph = whole.graph
    found = {node for node in graph.ancestors([name], controls=False) if op_types.is_source(graph.type(node))}
    return {source for source in found if not is_scalar_placeholder(graph, source)}


def _shuffle_of(whole: WholeGraph, source: str) -> tuple[object, ...]:
    """The queue or dataset that shuffles the elements of a source, with its seeds; () if none does."""
    taken_from = whole.graph.origin(whole.graph.inputs(source)[0]).node if whole.graph.inputs(source) else ""
    if not taken_from or whole.graph.type(taken_from) in _SHUFFLING_QUEUES:
        return (taken_from,) if taken_from else ()
    if whole.graph.type(taken_from).startswith(_QUEUES):
        return _shuffles_behind(whole, taken_from)
    seeds = seeds_of_shuffles(whole.graph, taken_from)
    return (*seeds, "" if any(any(seed) for seed in seeds) else taken_from) if seeds else ()


def _shuffles_behind(whole: WholeGraph, queue: str) -> tuple[str, ...]:
    """The shuffles of what fills a queue, also by way of other queues; of a seed of their own, by their seeds."""
    graph, found = whole.graph, set()
    todo, seen = [queue], {queue}
    while todo:
        place = todo.pop()
        if graph.type(place) in _SHUFFLING_QUEUES:
            found.add(place)
            continue
        for name in _before_fillers(whole, place):
            if graph.type(name) == "RandomShuffle":
                seeds = graph.nodes[name].attr["seed"].i, graph.nodes[name].attr["seed2"].i
                found.add(str(seeds) if any(seeds) else name)
            elif graph.type(name).startswith("QueueDequeue"):
                before = graph.origin(graph.inputs(name)[0]).node
                todo += [before] if before not in seen else []
                seen.add(before)
    return tuple(sorted(found))


def _before_fillers(whole: WholeGraph, queue: str) -> set[str]:
    """The nodes that compute what is put into a queue."""
    return whole.graph.ancestors(_fillers(whole, queue), controls=False)


def _fillers(whole: WholeGraph, queue: str) -> list[str]:
    """The ops that put elements into a queue."""
    fillers = [name for name in whole.graph.descendants([queue]) if whole.graph.type(name).startswith("QueueEnqueue")]
    return [name for name in fillers if whole.graph.origin(whole.graph.inputs(name)[0]).node == queue]


def _parts(whole: WholeGraph, queue: str) -> set[TensorId]:
    """The tensors that are put into a queue."""
    inputs = [tensor for name in _fillers(whole, queue) for tensor in whole.graph.inputs(name)[1:]]
    return {whole.graph.origin(tensor) for tensor in inputs}


def _taken_for(whole: WholeGraph, queue: str) -> set[str]:
    """The sources of data from which a queue is filled."""
    before = _before_fillers(whole, queue)
    return {name for name in before if op_types.is_source(whole.graph.type(name))}


def _shuffled_alone(whole: WholeGraph, before: Collection[str]) -> tuple[str, str] | None:
    """A shuffle of one input alone, where a loss compares what it gives with others.

    One that enters unshuffled, too, as for a mixture, is no such, nor is one beside a shuffle with the same seed; nor
    one that a model takes together with others, as a condition that examples are changed to.
    """
    graph = whole.graph
    sources = [name for name in graph.of_kind(op_types.is_source) if name in before]
    sources = [name for name in sources if not is_scalar_placeholder(graph, name)]
    for name in [name for name in graph.of_types("RandomShuffle") if name in before]:
        above = graph.ancestors([name], controls=False)
        own = [source for source in sources if source in above and _enters_by(whole, source, name, before)]
        draw = draw_of(graph, name)
        alike = [one for one in before if graph.type(one) == "RandomShuffle" and draw_of(graph, one) == draw]
        together = graph.ancestors(alike, controls=False)
        others = [source for source in sources if source not in together]
        others = [source for source in others if _are_compared(whole, before, name, source)] if own else []
        if own and others and not above & whole.trainable:
            return name, f"{name} shuffles {own[0]}, and not {others[0]}"
    return None


def _are_compared(whole: WholeGraph, before: Collection[str], shuffle: str, other: str) -> bool:
    """Whether a loss compares values behind a shuffle with values of another input, one of both computed by weights."""
    graph = whole.graph
    after, beside = graph.descendants([shuffle], controls=False), graph.descendants([other], controls=False)
    pairs = [(entropy.labels, entropy.logits) for entropy in cross_entropies(whole) if entropy.op in before]
    for name in whole.minimized_ops(*_COMPARISONS):
        inputs = graph.inputs(name)[:2]
        kinds = {graph.type(source_of_elements(graph, tensor).node) for tensor in inputs}
        if name in before and (graph.type(name) != "Mul" or kinds & {"Log", "LogSoftmax"}):
            pairs.append((inputs[0], inputs[1]))
    for sides in pairs:
        depends = [(tensor.node in after, tensor.node in beside) for tensor in sides]
        by_weights = [tensor.node in made_by_weights(whole) for tensor in sides]
        if sorted(depends) == [(False, True), (True, False)] and any(by_weights):
            return True
    return False


def _enters_by(whole: WholeGraph, source: str, shuffle: str, before: Collection[str]) -> bool:
    """Whether the elements of an input enter a loss by way of a shuffle alone; its sizes may enter otherwise."""
    graph = whole.graph
    sizes = set(graph.of_types(*op_types.SHAPE_OPS))
    entering = graph.descendants([source], controls=False, stop=sizes | {shuffle}) - sizes
    return not (entering & set(before)) - graph.ancestors([shuffle], controls=False)


def _turned_apart(whole: WholeGraph, before: Collection[str]) -> tuple[str, str] | None:
    """Flips at random of an image and of its labels, such as a mask of whole numbers, that are drawn independently."""
    graph = whole.graph
    flips: dict[str, tuple[str, set[Hashable]]] = {}
    for name in [name for name in graph.of_types(*op_types.TURNS) if name in before]:
        above = graph.ancestors([name], controls=False)
        draws = {draw_of(graph, node) for node in above if op_types.is_random(graph.type(node))}
        for source in above if draws and not above & whole.trainable else ():
            if op_types.is_source(graph.type(source)) and not is_scalar_placeholder(graph, source):
                flips.setdefault(source, (name, draws))
    whole_numbers = [source for source in flips if graph.nodes[source].attr["dtype"].type in _WHOLE_NUMBERS]
    for labels in whole_numbers:
        for image in [source for source in flips if source not in whole_numbers]:
            if flips[image][1].isdisjoint(flips[labels][1]):
                op, other = flips[labels][0], flips[image][0]
                return op, f"{other} flips {image} and {op} flips {labels}, by random numbers drawn apart"
    return None
