"""Which pops take from the stack that a push fills."""

import pytest

from workloads.lifted.graph.stacks import pops_of_pushes, reversed_edges
from workloads.lifted.graph.tensor_names import TensorId

TYPES = {
    "stack": "StackV2",
    "other": "StackV2",
    "enter": "Enter",
    "push": "StackPushV2",
    "pop": "StackPopV2",
    "second_pop": "StackPopV2",
    "push_other": "StackPushV2",
    "add": "Add",
}
INPUTS = {
    "stack": ["size"],
    "other": ["size"],
    "enter": ["stack"],
    "push": ["enter", "x"],
    "pop": ["enter"],
    "second_pop": ["stack"],
    "push_other": ["other", "x"],
    "add": ["pop", "second_pop"],
}


def tensors(inputs):
    return {name: [TensorId(each, 0) for each in before] for name, before in inputs.items()}


def test_a_handle_is_followed_into_loops_and_branches():
    assert pops_of_pushes(TYPES, tensors(INPUTS)) == {"push": ["pop", "second_pop"]}


@pytest.mark.parametrize("before", [[], ["enter"]])
def test_a_handle_without_a_stack_joins_nothing(before):
    """Also one that leads to itself, as in a damaged file."""
    assert pops_of_pushes(TYPES, tensors({**INPUTS, "enter": before})) == {"push": ["pop"]}
    assert pops_of_pushes(TYPES, tensors({**INPUTS, "pop": ["other"], "second_pop": ["other"]})) == {
        "push_other": ["pop", "second_pop"]
    }


def test_edges_are_reversed_in_the_order_of_their_nodes():
    assert reversed_edges({"a": ["c", "d"], "b": ["d"], "e": []}) == {"c": ["a"], "d": ["a", "b"]}
