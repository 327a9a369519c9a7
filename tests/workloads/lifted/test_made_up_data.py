"""Made-up values of inputs, and parts of sparse tensors."""

import numpy as np
import pytest

from workloads.lifted.made_up_data import (
    BatchSize,
    dealt_rows,
    made_up_shape,
    made_up_sparse_tensor,
    made_up_values,
    sparse_groups,
    tie_parts,
)
from workloads.lifted.plan import Input
from workloads.support.errors import InputError

SIZE = BatchSize(3, 2)


def entry(name="x", dtype="float32", shape=(None,), kind="batch", limit=0, **more):
    shape = None if shape is None else list(shape)
    return Input(name, dtype, shape, kind, limit, [name + ":0"], more.pop("origin", name + ":0"), **more)


@pytest.mark.parametrize(
    "made, shape",
    [
        (entry(shape=(None, 5)), (3, 5)),
        (entry(shape=(None, None)), (3, 6)),
        (entry(shape=(None, None, None, 3)), (3, 64, 64, 3)),
        (entry(shape=(None, 2), kind="same"), (6, 2)),
        (entry(shape=(None, 2), kind="same batch"), (3, 2)),
        (entry(shape=None, kind="setting"), ()),
        (entry(shape=None, example=[None, 4]), (3, 4)),
        (entry(shape=(None, None), example=[None, 7]), (3, 7)),
        (entry(shape=(None, None), example=[7, None]), (7, 3)),  # time comes first
        (entry(shape=(None, None), sparse="w/indices"), (3, 2)),  # a row and a column
    ],
)
def test_shapes_are_the_batch_and_what_the_graph_or_an_example_says(made, shape):
    assert made_up_shape(made, SIZE) == shape
    assert made_up_values(made, SIZE, np.random.RandomState(0)).shape == shape


def test_integers_stay_within_their_bounds_and_bytes_are_images():
    def drawn(**options):
        return set(made_up_values(entry(shape=(400,), **options), SIZE, np.random.RandomState(0)).tolist())

    assert drawn(dtype="int32") == {0, 1} and drawn(dtype="int64", limit=4) == {0, 1, 2, 3}
    assert drawn(dtype="int32", low=3) == {3, 4}  # two values, where only zero is ruled out
    assert drawn(dtype="int32", low=5, limit=6) == {5} and drawn(dtype="int32", low=1, limit=3) == {1, 2}
    assert drawn(dtype="float32", limit=3) == {0.0, 1.0, 2.0}  # a label map of floats
    assert max(drawn(dtype="uint8")) > 200
    assert drawn(dtype="bool") == {False, True} and drawn(dtype="bool", low=1) == {True}
    with pytest.raises(InputError, match="input 'x' is of string, which cannot be made up"):
        drawn(dtype="string")


def sparse(columns=5):
    parts = [
        entry("w/indices", "int64", (None, 2), limit=columns, sparse="w/indices"),
        entry("w/values", "int32", (None,), limit=9, sparse="w/values"),
        entry("w/shape", "int64", (2,), "whole", sparse="w/shape"),
    ]
    return sparse_groups(parts + [entry("dense")])["w"]


def test_one_of_the_lengths_is_the_full_one_where_the_graph_needs_it():
    def longest(**options):
        made = entry(dtype="int32", shape=(2,), limit=9, low=1, **options)
        return [made_up_values(made, SIZE, np.random.RandomState(seed)).max() for seed in range(20)]

    assert set(longest(has_full=True)) == {8} and min(longest()) < 8


def test_a_sparse_tensor_has_some_columns_of_every_row_in_order():
    values = made_up_sparse_tensor(sparse(), SIZE, np.random.RandomState(0))
    assert values["w/indices"].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]
    assert values["w/shape"].tolist() == [3, 5] and len(values["w/values"]) == 6
    assert values["w/values"].max() < 9 and values["w/indices"].dtype == np.int64
    narrow = made_up_sparse_tensor(sparse(1), SIZE, np.random.RandomState(0))
    assert narrow["w/indices"].tolist() == [[0, 0], [1, 0], [2, 0]] and narrow["w/shape"].tolist() == [3, 1]


def test_rows_of_a_sparse_tensor_are_dealt_with_their_values():
    values = {
        "w/indices": np.array([[0, 4], [2, 1], [3, 0], [3, 2]]),
        "w/values": np.array([10, 20, 30, 40]),
        "w/shape": np.array([4, 5]),
    }
    second = dealt_rows(sparse(), values, 1, 2)
    assert second["w/indices"].tolist() == [[0, 1], [1, 0], [1, 2]]
    assert second["w/values"].tolist() == [20, 30, 40] and second["w/shape"].tolist() == [2, 5]
    assert values["w/shape"].tolist() == [4, 5]


def test_several_values_at_the_same_indices_are_dealt_together():
    weights = entry("weights", shape=(None,), sparse="w/values")
    (parts,) = sparse_groups([*sparse().values(), weights]).values()
    assert parts["values 3"] is weights
    values = made_up_sparse_tensor(parts, SIZE, np.random.RandomState(0))
    assert len(values["weights"]) == len(values["w/values"]) == 6
    second = dealt_rows(parts, values, 1, 1)
    assert second["weights"].tolist() == values["weights"][2:4].tolist() and len(second["w/values"]) == 2


def test_the_whole_of_a_batch_is_its_parts_together():
    whole, part = entry("x", shape=(None,), kind="same"), entry("part", shape=(None,), origin="x:0")
    shards = [{"x": np.zeros(4), "part": np.array([1.0, 2.0])}, {"x": np.zeros(4), "part": np.array([3.0, 4.0])}]
    tie_parts([whole, part], shards)
    assert all(shard["x"].tolist() == [1, 2, 3, 4] for shard in shards)
    other = entry("y", shape=(None,), kind="same")
    shards = [{"y": np.zeros(4), "part": np.ones(2)}] * 2
    tie_parts([other, part], shards)
    assert shards[0]["y"].tolist() == [0, 0, 0, 0]
