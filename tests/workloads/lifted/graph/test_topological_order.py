"""Topological orders with sets of control inputs that count once are those of the single edges."""

import collections
import doctest
import random

import pytest

from workloads.lifted.graph import topological_order
from workloads.lifted.graph.topological_order import Barrier, TopologicalOrder, nodes_after

INPUTS = {"d": ["a"], "c": [], "a": [], "b": [], "e": []}


def one_edge_after_the_other(inputs, barriers, members, extra):
    """The order by Kahn's algorithm, in which each control input is an edge of its own."""
    edges = {name: list(producers) for name, producers in inputs.items()}
    for before, after in barriers:
        for name in after:
            edges[name] = edges[name] + before
    waits = {name: sum(p in members for p in edges[name]) for name in inputs if name in members}
    for _, name in extra:
        waits[name] += 1
    ready, ordered = collections.deque(name for name, count in waits.items() if not count), []
    while ready:
        name = ready.popleft()
        ordered.append(name)
        users = [user for user in inputs for producer in edges[user] if producer == name]
        for user in users + [after for before, after in extra if before == name]:
            if user in waits:
                waits[user] -= 1
                if not waits[user]:
                    ready.append(user)
    return ordered


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_single_edges(seed):
    draw = random.Random(seed)
    line = [f"n{number}" for number in range(24)]
    inputs = {name: draw.choices(line[:i], k=draw.randint(0, 2)) if i else [] for i, name in enumerate(line)}
    inputs = {name: inputs[name] for name in draw.sample(line, len(line))}  # a GraphDef is in no topological order
    barriers = []
    for cut in (8, 16):
        after = set(draw.sample(line[cut:], 6)).difference(*(barrier.after for barrier in barriers))
        barriers.append(Barrier(draw.sample(line[:cut], 5), [name for name in inputs if name in after]))
    members, extra = set(draw.sample(line, 18)), []
    pair = sorted(draw.sample(sorted(members), 2), key=line.index)
    for more in ([], [tuple(pair)]):
        extra = extra + more
        expected = one_edge_after_the_other(inputs, barriers, members, extra)
        assert TopologicalOrder(inputs, barriers).sorted(members, extra) == expected


def test_a_node_waits_for_all_of_a_barrier_but_only_for_members():
    order = TopologicalOrder(INPUTS, [Barrier(["b", "e"], ["c", "a"])])
    assert order.sorted(INPUTS) == ["b", "e", "c", "a", "d"]
    assert order.sorted({"a", "b", "c"}) == ["b", "c", "a"]
    assert order.sorted({"a", "d"}) == ["a", "d"]


def test_a_cycle_by_way_of_a_barrier_is_refused():
    with pytest.raises(ValueError, match="^(a|d)$"):
        TopologicalOrder(INPUTS, [Barrier(["d"], ["a"])]).sorted(INPUTS)


def test_equal_lists_of_nodes_after_are_one():
    barriers = [Barrier(["a", "b"], ["e", "d"]), Barrier(["a", "b"], ["c"])]
    found = nodes_after(barriers, {name: position for position, name in enumerate("abcde")})
    assert found == {"a": ["c", "d", "e"], "b": ["c", "d", "e"]}
    assert found["a"] is found["b"]


def test_the_examples():
    assert doctest.testmod(topological_order).failed == 0
