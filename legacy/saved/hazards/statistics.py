"""Hazards of batch statistics: updated from one tower's batches, or by several towers in turn."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.values.update_sources import UpdateSources
from legacy.saved.facts.basics.whole_graph import WholeGraph, scalar_constant
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import kept_share, most_kept
from legacy.saved.hazards.models.states_of_towers import shared_states
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Effect
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: Stands for the towers that update a statistic where several update ops change it.
IN_TURN = (-1,)
ADVICE = "the lift keeps this order; in new code, variables with aggregation ONLY_FIRST_REPLICA or MEAN"


def statistics_of_towers(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds statistics that are updated from one tower's batches, or by several towers in turn."""
    towers = found.plan.towers
    groups, shown = _statistics_by_towers(found), _averages_to_show(found)
    if towers < 2:
        groups = {IN_TURN: _raced_by_passes(whole, found)}
    states = shared_states(whole)
    groups = {who: [name for name in names if name not in states] for who, names in groups.items()}
    groups = {who: names for who, names in groups.items() if names}
    if _are_even(groups, towers):
        groups = {who: names for who, names in groups.items() if who == IN_TURN}
    for who, names in groups.items():
        own = names if who == IN_TURN else [name for name in names if name not in shown]
        if who == IN_TURN:
            count = f"{counted(len(own), 'statistic is', 'statistics are')} updated by"
            text = f"{count} several towers one after the other, in no fixed order"
            yield Hazard("STATISTICS_RACE", names[0], text, ADVICE)
        elif own:
            yield from _of_one_tower(who, own, towers)


def statistics_of_towers_as_written(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages that a train op updates from one tower's batches, in a graph without an analysis."""
    if whole.count < 2:
        return
    towers: dict[str, set[int]] = collections.defaultdict(set)
    for name, variable in whole.writes.items():
        is_moved = name in whole.members and variable not in whole.trainable and not whole.is_scalar(variable)
        if is_moved and not any(map(is_gradient_op, whole.graph.ancestors([name], controls=False))):
            share = kept_share(whole, name).share
            if 0 < share < 1 or most_kept(whole, name) < 1:
                towers[variable] |= whole.data_towers(name)
    groups: dict[tuple[int, ...], list[str]] = collections.defaultdict(list)
    states = shared_states(whole)
    for variable, numbers in towers.items():
        if variable not in states:
            groups[tuple(sorted(numbers))].append(variable)
    if not _are_even(groups, whole.count):
        for who, names in groups.items():
            yield from _of_one_tower(who, names, whole.count)


def _are_even(groups: Mapping[tuple[int, ...], list[str]], towers: int) -> bool:
    """Whether each tower updates as many variables alone as each other one: they are carried state, or there are none.

    Args:
      groups: {towers that update them: variables}.
      towers: number of towers.
    """
    return len({len(groups.get((tower,), ())) for tower in range(towers)}) == 1


def _of_one_tower(who: tuple[int, ...], names: list[str], towers: int) -> Iterator[Hazard]:
    """Yields the hazard of statistics that the first or the last tower alone updates.

    Args:
      who: the towers that update them.
      names: the statistics.
      towers: number of towers.
    """
    if who in ((towers - 1,), (0,)):
        which = "last" if who == (towers - 1,) else "first"
        text = f"{counted(len(names), 'statistic is', 'statistics are')} updated by the {which} tower only"
        yield Hazard("STATISTICS_OF_ONE_TOWER", names[0], text, ADVICE)


def _averages_to_show(found: Analysis) -> set[str]:
    """Scalar statistics that no loss is computed from, such as the average of a tower's loss for a summary."""
    losses = [parse_tensor_name(tensor).node for phase in found.plan.phases for tensor in phase.losses]
    read = _computed_from(found.cut.graph, losses)
    return {variable.name for variable in found.plan.variables if variable.shape == []} - read


def _computed_from(graph: Graph, names: list[str]) -> set[str]:
    """The nodes that some nodes' values are computed from; of a `tf.Print`, only the input that it returns."""
    seen, todo = set(names), list(names)
    while todo:
        name = todo.pop()
        inputs = graph.inputs(name)
        before = {tensor.node for tensor in (inputs[:1] if graph.type(name) == "Print" else inputs)} - seen
        seen |= before
        todo += before
    return seen


def statistics_of_other_data(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds statistics that the step moves by its examples, and by others that no loss depends on; one for all."""
    graph = whole.graph
    bit = {name: 1 << i for i, name in enumerate(sorted(_sources(whole)))}
    trained = sum(bit[name] for name in bit if name in whole.minimized)
    brought = graph.flow(graph.order(graph.nodes), bit, controls=False)
    updates: dict[str, list[str]] = collections.defaultdict(list)
    for name, variable in whole.writes.items():
        if name in whole.members and variable not in whole.trainable and not whole.is_scalar(variable):
            updates[variable].append(name)
    found = {}
    for variable, each in updates.items():
        others = [name for name in each if brought[name] and not brought[name] & trained]
        if others and any(brought[name] & trained for name in each):
            found[variable] = others[0]
    for variable, name in found.items():
        sources = [source for source in bit if bit[source] & brought[name]]
        yield Hazard(
            "STATISTICS_OF_OTHER_DATA",
            name,
            f"the step moves {counted(len(found), 'statistic')} ({listed(list(found), FEW)}) by batches of "
            f"{listed(sources, FEW)} besides, which no loss depends on: {name} changes {variable}",
            "run the updates of the training pass alone, as of its name scope, and call the evaluation with "
            "training=False; for parity keep them",
        )
        return


def _sources(whole: WholeGraph) -> set[str]:
    """The placeholders, queues and iterators that bring in examples."""
    graph = whole.graph
    found = {name for name in whole.data if op_types.is_source(graph.type(name))}
    return {name for name in found if not op_types.is_random(graph.type(name))}


def _statistics_by_towers(found: Analysis) -> dict[tuple[int, ...], list[str]]:
    """{towers that update them: statistics}."""
    roles = {variable.name for variable in found.plan.variables if variable.role in ("statistic", "state")}
    updates = collections.defaultdict(list)
    for phase in found.plan.phases:
        sources = UpdateSources(found.cut.graph, phase)
        for effect in [effect for effect in phase.effects if not _adds_nothing(found.cut.graph, effect)]:
            towers = tuple(sources.towers(effect))
            for name in set(effect.writes) & roles:
                updates[name].append(towers)
    raced = {race.variable for phase in found.plan.phases for race in phase.races if race.reader is None}
    groups = collections.defaultdict(list)
    for name, each in updates.items():
        in_turn = len(each) > 1 and len(set().union(*each)) > 1
        if not in_turn:
            groups[each[0]].append(name)
        elif name in raced:
            groups[IN_TURN].append(name)
    return groups


def _raced_by_passes(whole: WholeGraph, found: Analysis) -> list[str]:
    """Statistics that towers of a graph change in no fixed order, in a step whose weights one of the towers trains."""
    if whole.count < 2:
        return []
    roles = {variable.name for variable in found.plan.variables if variable.role == "statistic"}
    raced = []
    for race in [race for phase in found.plan.phases for race in phase.races if race.reader is None]:
        nodes = [name for name in (race.first, race.second) if name in whole.graph.nodes]
        if race.variable in roles and len(set().union(*map(whole.data_towers, nodes))) > 1:
            raced.append(race.variable)
    return list(dict.fromkeys(raced))


def _adds_nothing(graph: Graph, effect: Effect) -> bool:
    """Whether an update adds 0 times something, as of a batch norm that runs as in evaluation."""
    if not effect.op.startswith(("AssignAdd", "AssignSub")) or not effect.values:
        return False
    product = parse_tensor_name(effect.values[0]).node
    return graph.type(product) == "Mul" and any(_number(graph, tensor.node) == 0 for tensor in graph.inputs(product))


def _number(graph: Graph, name: str) -> float | None:
    """The number of a constant, or of the difference of two, such as 1 - decay; None for any other node."""
    if graph.type(name) == "Sub":
        first, second = (scalar_constant(graph.nodes[tensor.node]) for tensor in graph.inputs(name))
        return None if first is None or second is None else first - second
    return scalar_constant(graph.nodes[name])
