"""Hazards of random numbers: towers that draw the same ones, by equal seeds, or of which some draw none."""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from workloads.lifted.graph import Graph
from workloads.support.wording import counted


def draw_of(graph: Graph, name: str) -> Hashable:
    """Returns a key of the numbers that a random op draws, which is equal for two ops of one kind with equal seeds."""
    attributes = graph.nodes[name].attr
    seeds = attributes["seed"].i, attributes["seed2"].i
    return (graph.type(name), *seeds) if any(seeds) else name


def same_random_numbers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds random ops of one kind that have the same seeds in several towers; one hazard for all of them.

    Without a seed of its own, an op has one by its number in the graph, or none.
    """
    groups: dict[tuple[str | int, ...], dict[int, list[str]]] = collections.defaultdict(dict)
    for name in whole.graph.nodes:
        kind, attributes = whole.graph.type(name), whole.graph.nodes[name].attr
        seeds = attributes["seed"].i, attributes["seed2"].i
        if name in whole.reach and op_types.is_random(kind) and any(seeds) and name in whole.labels:
            groups[(kind,) + seeds].setdefault(whole.labels[name], []).append(name)
    same = {seeds: towers for seeds, towers in groups.items() if len(towers) > 1}
    count = sum(max(map(len, towers.values())) for towers in same.values())
    for (_, seed, seed2), towers in same.items():
        first = [names[0] for names in towers.values()]
        yield Hazard(
            "SAME_RANDOM_NUMBERS",
            first[0],
            f"{listed_towers(towers)} draw the same numbers: the seeds of {counted(count, 'random op')} of each "
            f"are equal, such as {seed} and {seed2} of {', '.join(first[:2])}",
            "give each replica its own seed, as by adding replica_id_in_sync_group; parity needs the same on each",
        )
        return


def random_numbers_of_some_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers whose losses draw random numbers, as for dropout, beside towers whose losses draw none."""
    graph = whole.graph
    minimized = {whole.labels[name] for name in whole.targets if name in whole.labels}
    if whole.count < 2 or minimized != set(whole.towers()):
        return
    draws: dict[int, list[str]] = collections.defaultdict(list)
    for name in [name for name in graph.of_kind(op_types.is_random) if name in whole.minimized]:
        for tower in [whole.labels[name]] if name in whole.labels else whole.towers():
            draws[tower].append(name)
    idle = [tower for tower in whole.towers() if tower not in draws]
    if draws and idle:
        first = min(draws)
        yield Hazard(
            "RANDOM_IN_SOME_TOWERS",
            draws[first][0],
            f"the losses of {listed_towers(draws)} draw random numbers, such as {draws[first][0]}, and those of "
            f"{listed_towers(idle)} draw none: dropout or noise is in some towers alone",
            "every replica runs the same function; for parity, switch it by replica_id_in_sync_group",
        )
