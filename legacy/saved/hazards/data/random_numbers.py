"""Hazard of random numbers: towers whose random ops have the same seeds, and so draw the same numbers."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from workloads.support.wording import counted


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
            "give each replica a seed of its own, as by adding replica_id_in_sync_group; parity needs the same on each",
        )
        return
