"""Hazard of layers that begin with units alike, which then stay so."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.beginnings import first_value
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from legacy.saved.hazards.updates.weights import layer_before, weight_of

_ADDITIONS = ("Add", "AddV2", "BiasAdd")


def units_that_stay_equal(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds two layers, one after the other, whose weights both begin as one number each; one hazard for all.

    All units between them give the same, and get the same gradient. Of zeros in both, `layers_of_zeros` tells more.
    """
    graph = whole.graph
    layers = {name: weight_of(whole, name) for name in graph.nodes if name in whole.minimized}
    numbers = {name: first_value(whole, weight) for name, weight in layers.items() if weight in whole.trainable}
    for name in [name for name, number in numbers.items() if number is not None]:
        before = layer_before(whole, name)
        is_alike = numbers.get(before) is not None and (numbers[before] or numbers[name])
        if is_alike and _units(whole, layers[before]) > 1 and _begins_alike_between(whole, before, name):
            yield Hazard(
                "UNITS_STAY_EQUAL",
                name,
                f"the weights of two layers one after the other begin as one number each ({layers[before]}: "
                f"{numbers[before]:.4g}, {layers[name]}: {numbers[name]:.4g}): all units between them stay equal, as "
                "if there were one, unless a checkpoint is loaded",
                "give them random values; for parity, begin with the old checkpoint's",
            )
            return


def _units(whole: WholeGraph, weight: str) -> int:
    """The number of units that a weight makes: its last dimension."""
    sizes = variable_sizes(whole.graph, weight)
    return sizes[-1] if sizes else 0


def _begins_alike_between(whole: WholeGraph, before: str, layer: str) -> bool:
    """Whether what is added between two layers are variables that begin as one number each, or constants of one."""
    graph, name = whole.graph, whole.graph.inputs(layer)[0].node
    while name != before:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        others = [one for one in inputs if one not in whole.data] if graph.type(name) in _ADDITIONS else []
        if any(_beginning(whole, other) is None for other in others):
            return False
        name = next(one for one in inputs if one in whole.data)
    return True


def _beginning(whole: WholeGraph, name: str) -> float | None:
    """The number that all of a variable begins as, or that a constant is; None of anything else."""
    variable = variable_read(whole.graph, name)
    return first_value(whole, variable) if variable else whole.value(name)
