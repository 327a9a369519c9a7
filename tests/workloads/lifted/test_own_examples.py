"""Batches of the program's own data that a lift keeps: rows that belong together stay together."""

import numpy as np
import pytest

from tests.small_lift import small_graph, small_plan
from workloads.job import Job
from workloads.lifted.folder import BATCHES, write_lift
from workloads.lifted.made_up_data import BatchSize
from workloads.lifted.own_examples import OwnExamples
from workloads.lifted.plan import Input
from workloads.lifted.sources import LiftedSynthetic
from workloads.lifted.workload import load_lift
from workloads.program import State
from workloads.support.errors import InputError

X = Input("x", "float32", [None, 2], "batch", 0, ["a", "b"], "x")
Y = Input("y", "int32", [None], "batch", 0, ["c", "d"], "y")
RATE = Input("rate", "float32", [], "setting", 0, ["e"], "rate")


def rows(*labels):
    return {"x": np.array([[10 * n, 10 * n + 1] for n in labels], "float32"), "y": np.array(labels, "int32")}


def test_rows_are_drawn_in_another_order_and_belong_together():
    own = OwnExamples(
        [dict(rows(1, 2, 3), rate=np.float32(0.5)), dict(rows(4, 5, 6), rate=np.float32(0.5))], 2, [X, Y, RATE]
    )
    orders = set()
    for step in range(20):
        drawn = own.draw(step, 1, BatchSize(3, 2), np.random.RandomState(step))
        assert sorted(drawn["y"]) == [4, 5, 6] and drawn["rate"] == 0.5
        assert np.array_equal(drawn["x"][:, 0], 10 * drawn["y"])
        orders.add(tuple(drawn["y"]))
    assert len(orders) > 3


@pytest.mark.parametrize("size, counts", [(2, (0, 1)), (7, (2, 3))])
def test_a_batch_of_another_size_takes_each_row_as_often(size, counts):
    drawn = OwnExamples([rows(1, 2, 3)], 1, [X, Y]).draw(0, 0, BatchSize(size, 1), np.random.RandomState(0))
    assert len(drawn["y"]) == size and all(list(drawn["y"]).count(n) in counts for n in (1, 2, 3))


def test_where_arrays_have_other_numbers_of_rows_batches_stay_as_they_are():
    batches = [dict(rows(n, n + 1), y=np.array([n], "int32")) for n in (1, 3, 5, 7)]
    own = OwnExamples(batches, 2, [X, Y])
    drawn = [
        own.draw(step, replica, BatchSize(9, 3), np.random.RandomState(0)) for step in (0, 1, 2) for replica in range(3)
    ]
    assert [int(batch["y"][0]) for batch in drawn] == [1, 3, 1, 5, 7, 5, 1, 3, 1]
    assert all(len(batch["x"]) == 2 for batch in drawn)


def kept(tmp_path, *batches, count=None):
    """The small lift, with batches of its own."""
    plan = small_plan()
    plan.own_batches = len(batches) if count is None else count
    write_lift(str(tmp_path / "lift"), plan, small_graph().graph_def, {"w": np.float32(2)}, batches)
    return load_lift(str(tmp_path / "lift"))


def test_a_lift_gives_the_batches_that_it_keeps_and_passes_them_on(tmp_path):
    lift = kept(tmp_path, {"x": np.array([1, 2], "float32")}, {"x": np.array([3, 4], "float32")})
    shards = LiftedSynthetic(Job(lift, 2)).shards(0)
    assert [sorted(shard["x"]) for shard in shards] == [[1, 2], [3, 4]]
    lift.save(str(tmp_path / "trained"), State(1, {"w": np.float32(3)}, {}, {}, {}))
    again = load_lift(str(tmp_path / "trained"))
    assert [batch["x"].tolist() for batch in again.own_batches()] == [[1, 2], [3, 4]]
    assert again.digest == lift.digest


def test_batches_that_are_missing_or_do_not_fit_are_refused(tmp_path):
    lift = kept(tmp_path, {"x": np.zeros(3, "float32")})
    with pytest.raises(InputError, match=r"batches.npz holds float32 \[3\] for 'x', expected float32 \[2\]"):
        lift.own_batches()
    lift = kept(tmp_path, {"x": np.zeros(2, "float32")}, count=2)
    with pytest.raises(InputError, match="batches.npz: 1/x is missing"):
        lift.own_batches()
    (tmp_path / "lift" / BATCHES).unlink()
    with pytest.raises(InputError, match="is damaged: batches.npz"):
        lift.own_batches()
