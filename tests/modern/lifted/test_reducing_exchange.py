"""Exchange by all-reduce: towers of replicas, rescaling, and where reduced gradients go."""

from __future__ import annotations

import pytest
import tensorflow as tf

from modern.lifted import reducing_exchange
from modern.lifted.exchange import ExchangeAsWritten
from modern.lifted.reducing_exchange import ReducingExchange, make_exchange
from tests.modern.lifted.replicas import exchanged
from tests.small_lift import SCALAR, small_lift, small_plan
from workloads.job import Job
from workloads.lifted.plan import Combine, Effect, TensorType, Variable
from workloads.lifted.reduction_factors import rescaling
from workloads.lifted.replication import tower_of_replica
from workloads.support.errors import InputError


def test_each_replica_runs_its_own_tower_if_there_are_as_many():
    assert [tower_of_replica(replica, 3, 3, True) for replica in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    "replicas, towers, differ, expected",
    [
        (4, 2, False, [0, 0, 0, 0]),
        (4, 2, True, [0, 1, 1, 1]),
        (5, 3, True, [0, 1, 1, 1, 2]),
        (2, 4, True, [0, 3]),
        (1, 4, True, [0]),
    ],
)
def test_first_and_last_replicas_run_first_and_last_towers_that_differ(replicas, towers, differ, expected):
    assert [tower_of_replica(replica, replicas, towers, differ) for replica in range(replicas)] == expected


@pytest.mark.parametrize(
    "kind, scale, loss_scale, expected",
    [
        ("sum", 1.0, 0.5, 0.5),  # losses are averaged over 2 towers: of 4 replicas each counts a half as much
        ("sum", 1.0, 1.0, 1.0),
        ("sum", 1.0, 0.5 + 1e-5, 1.0),
        ("sum", 1 / 256, 128.0, 0.5),  # the losses are scaled up, and their gradients down again
        ("sum", 1 / 128, 128.0, 1.0),
        ("mean", 1.0, 0.5, 1.0),
        ("concat", 0.5, 1.0, 0.5),  # rows are averaged over 2 towers
        ("concat", 1.0, 1.0, 1.0),
        ("concat", 1.0, 0.5, 0.5),
    ],
)
def test_what_is_weighted_by_the_number_of_towers_is_rescaled(kind, scale, loss_scale, expected):
    assert rescaling(Combine("w", kind, "t:0", scale, [["a:0"], ["b:0"]]), loss_scale, 2, 4) == expected


def test_a_single_tower_is_never_rescaled():
    assert rescaling(Combine("w", "sum", "t:0", 1.0, [["a:0"]]), 1.0, 1, 4) == 1.0


def with_combine(kind, **fields):
    plan = small_plan()
    plan.phases[0].combine = [Combine("w", kind, "mean:0", fields.pop("scale", 1.0), [["g0:0"], ["g1:0"]], **fields)]
    return plan


def reduced(plan, needed=("mean:0",), gradients=(3.0, 7.0)):
    """What each of two replicas gets; its gradient is one of `gradients`."""
    exchange = ReducingExchange(plan, plan.phases[0], 2)
    return exchanged(exchange, [{f"g{k}:0": tf.constant(g)} for k, g in enumerate(gradients)], needed)


@pytest.mark.parametrize("kind, scale, expected", [("mean", 1.0, 5.0), ("sum", 1.0, 10.0), ("sum", 0.25, 2.5)])
def test_gradients_are_reduced_as_the_graph_combines_them(kind, scale, expected):
    assert [values["mean:0"] for values in reduced(with_combine(kind, scale=scale))] == [expected, expected]


def test_rows_are_joined_in_the_replicas_order():
    plan = with_combine("concat", scale=0.5)
    found = reduced(plan, gradients=([1.0, 2.0], [3.0]))
    assert [values["mean:0"].tolist() for values in found] == [[0.5, 1.0, 1.5]] * 2


@pytest.mark.parametrize("kind, expected", [("mean", 10.0), ("sum", 10.0)])
def test_what_the_graph_adds_after_combining_stays(kind, expected):
    """The sum goes in by the first tower's tensor, zeros by the others: the graph combines them, and adds its decay."""
    found = reduced(with_combine(kind, affine=True), needed=("g0:0", "g1:0"))
    assert [(values["g0:0"], values["g1:0"]) for values in found] == [(expected, 0.0)] * 2


def test_a_tower_with_several_parts_contributes_their_sum():
    plan = with_combine("sum")
    plan.phases[0].combine[0].parts = [["g0:0", "x:0"], ["g1:0", "y:0"]]
    exchange = ReducingExchange(plan, plan.phases[0], 2)
    crossings = [
        {"g0:0": tf.constant(1.0), "x:0": tf.constant(2.0)},
        {"g1:0": tf.constant(4.0), "y:0": tf.constant(8.0)},
    ]
    assert [values["mean:0"] for values in exchanged(exchange, crossings, ["mean:0"])] == [15.0, 15.0]


def test_an_open_shape_is_the_variables():
    plan = with_combine("mean")
    plan.tensors["g0:0"] = plan.tensors["g1:0"] = plan.tensors["mean:0"] = TensorType("float32", None)
    assert [values["mean:0"] for values in reduced(plan)] == [5.0, 5.0]


def test_other_crossings_come_from_the_replica_with_their_tower():
    plan = small_plan()
    plan.phases[0].crossings = [["g0:0", "g1:0"], ["m0:0", "m1:0"], ["only:0", None]]
    plan.tensors.update({"m0:0": SCALAR, "m1:0": SCALAR, "only:0": SCALAR})
    exchange = ReducingExchange(plan, plan.phases[0], 2)
    crossings = [
        {"g0:0": tf.constant(3.0), "m0:0": tf.constant(1.0), "only:0": tf.constant(9.0)},
        {"g1:0": tf.constant(7.0), "m1:0": tf.constant(2.0)},
    ]
    found = exchanged(exchange, crossings, ["mean:0", "m0:0", "m1:0", "only:0"])
    for values in found:
        assert (values["m0:0"], values["m1:0"], values["only:0"]) == (1.0, 2.0, 9.0)


def test_a_lone_crossing_is_represented_by_its_twin():
    plan = small_plan()
    plan.phases[0].crossings = [["g0:0", "g1:0"], [None, "b1:0"], ["b0:0", None]]
    plan.phases[0].twins = {"b1:0": "b0:0"}
    plan.tensors.update({"b0:0": SCALAR, "b1:0": SCALAR})
    exchange = ReducingExchange(plan, plan.phases[0], 3)
    crossings = [{"g0:0": tf.constant(1.0), "b0:0": tf.constant(float(replica))} for replica in range(3)]
    found = exchanged(exchange, crossings, ["b1:0"])  # all replicas run the first tower's graph
    assert [values["b1:0"] for values in found] == [2.0, 2.0, 2.0]  # tower 1 is the last one: the last replica's


def state_plan():
    plan = small_plan()
    plan.variables += [Variable(f"s{k}", [], "float32", "state", tower=k) for k in range(2)]
    plan.phases[0].effects += [Effect(f"set{k}", "Assign", [f"s{k}"], [f"new{k}:0"]) for k in range(2)]
    plan.phases[0].crossings += [["new0:0", "new1:0"]]
    plan.phases[0].state_crossings = {"new0:0": "set0", "new1:0": "set1"}
    plan.tensors.update({"new0:0": SCALAR, "new1:0": SCALAR})
    return plan


def test_a_state_is_changed_by_replicas_of_its_tower_only():
    plan = state_plan()
    effects = {effect.node: effect for effect in plan.phases[0].effects}
    own = ReducingExchange(plan, plan.phases[0], 2)
    assert not own.skips(effects["set1"], 0)  # every replica keeps its own copies
    other = ReducingExchange(plan, plan.phases[0], 3)
    assert [other.skips(effects[node], 0) for node in ("update", "set0", "set1")] == [False, False, True]


def test_a_state_is_not_taken_from_another_replica():
    plan = state_plan()
    exchange = ReducingExchange(plan, plan.phases[0], 3)
    crossings = [{"g0:0": tf.constant(1.0), "new0:0": tf.constant(float(replica))} for replica in range(3)]
    assert [values["new0:0"] for values in exchanged(exchange, crossings, ["new0:0"])] == [0.0, 1.0, 2.0]


def test_says_how_it_reduces_and_where_the_update_is_cut():
    plan = with_combine("mean")
    exchange = ReducingExchange(plan, plan.phases[0], 2)
    assert exchange.describe("ring") == "all-reduce of mean, by ring" and exchange.cuts == ["mean:0", "g0:0", "g1:0"]
    affine = with_combine("mean", affine=True)
    assert ReducingExchange(affine, affine.phases[0], 2).cuts == ["g0:0", "g1:0"]


def job_of(tmp_path, replicas, change=lambda plan: None):
    return Job(small_lift(str(tmp_path / "lift"), change), replicas)


def test_the_old_graphs_combining_is_kept_where_its_bits_are_asked_for(tmp_path):
    job = job_of(tmp_path, 2)
    phase = job.workload.plan.phases[0]
    assert isinstance(make_exchange(job, phase, "tower_order"), ExchangeAsWritten)
    assert isinstance(make_exchange(job, phase, "auto"), ReducingExchange)
    other = job_of(tmp_path, 3)
    assert isinstance(make_exchange(other, phase, "tower_order"), reducing_exchange.ReducingExchange)


def test_combining_that_is_not_recognised_is_kept_or_refused(tmp_path):
    def change(plan):
        plan.phases[0].combine[0].kind = "kept as written"

    job = job_of(tmp_path, 2, change)
    assert isinstance(make_exchange(job, job.workload.plan.phases[0], "auto"), ExchangeAsWritten)
    job = job_of(tmp_path, 3, change)
    message = r"--replicas: got 3, .* not recognised \(w\), and only works for its own 2 towers"
    with pytest.raises(InputError, match=message):
        make_exchange(job, job.workload.plan.phases[0], "auto")


@pytest.mark.parametrize(
    "replicas, message", [(3, "--replicas: got 3, each tower"), (2, "--all_reduce: got 'auto', each")]
)
def test_towers_that_wait_for_each_other_only_work_as_written(replicas, message, tmp_path):
    job = job_of(tmp_path, replicas, lambda plan: setattr(plan.phases[0], "returns", [["mean:0"], ["mean:0"]]))
    with pytest.raises(InputError, match=message):
        make_exchange(job, job.workload.plan.phases[0], "auto")
