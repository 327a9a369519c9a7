"""Sets of nodes that edges reach, of which large ones are kept."""

import collections

import pytest

from workloads.lifted.graph import TensorId, Use, edges


def chain(length):
    """The edges of a chain of nodes, n0 to the last, each the input of the next one; n0 is a control input of all."""
    names = [f"n{i}" for i in range(length)]
    first, rest = [names[0]], names[1:]
    return edges.Edges(
        dict.fromkeys(names, "Identity"),
        {name: [TensorId(names[i - 1], 0)] if i else [] for i, name in enumerate(names)},
        collections.defaultdict(list, {name: [Use(after, 0, 0)] for name, after in zip(names, rest)}),
        {names[0]: [], **dict.fromkeys(rest, first)},
        {names[0]: rest},
    )


@pytest.mark.parametrize("length", (10, edges.LARGE_ANSWER + 10))
def test_an_answer_that_its_taker_changes_is_the_same_when_it_is_asked_for_again(length):
    graph = chain(length)
    before = graph.reached(["n5"], users=False, controls=False)
    assert before == {f"n{i}" for i in range(6)}
    behind = graph.reached(["n5"], users=True, controls=False)
    assert behind == {f"n{i}" for i in range(5, length)}
    behind.clear()
    assert graph.reached(["n5"], users=True, controls=False) == {f"n{i}" for i in range(5, length)}


def test_kept_answers_tell_directions_control_edges_starts_and_ends_apart():
    length = edges.LARGE_ANSWER + 10
    graph, last = chain(length), f"n{edges.LARGE_ANSWER + 9}"
    everything = {f"n{i}" for i in range(length)}
    assert graph.reached([last], users=False, controls=True) == everything
    assert graph.reached([last], users=True, controls=True) == {last}
    assert graph.reached([last], users=False, controls=True, stop=[last]) == {last}
    assert graph.reached([last], users=False, controls=True, stop=["n7"]) == everything - {f"n{i}" for i in range(1, 7)}
    assert graph.reached([last], users=False, controls=False, stop=["n7"]) == everything - {f"n{i}" for i in range(7)}


def test_of_many_large_answers_the_latest_are_kept():
    graph = chain(edges.LARGE_ANSWER + edges.MOST_ANSWERS + 10)
    for i in range(edges.MOST_ANSWERS + 5):
        assert len(graph.reached([f"n{i}"], users=True, controls=False)) > edges.LARGE_ANSWER
    assert len(graph._answers) == edges.MOST_ANSWERS
