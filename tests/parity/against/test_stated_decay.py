"""Weight decay that the losses of recorded old programs show."""

import dataclasses
from unittest import mock

import pytest
import tensorflow as tf

from parity.against.stated_decay import stated_decay
from tests import old_programs
from tests.legacy.saved.graphs import traced
from workloads.lifted.workload import load_lift

v1 = tf.compat.v1


def test_a_decay_that_all_towers_add_is_read_with_its_weights():
    lift = load_lift(old_programs.lifted("c_queue_ema"))
    found = stated_decay(lift)
    assert found.pop("weight_decay") == pytest.approx(0.04)
    assert found == {"decayed": ("local/weights",), "penalized": ("local/weights",)}
    assert stated_decay(lift, 0.5)["weight_decay"] == pytest.approx(0.02)


def test_a_loss_without_a_penalty_penalizes_nothing():
    assert stated_decay(load_lift(old_programs.lifted("b_adam_clip"))) == {"penalized": ()}


def test_a_penalty_of_one_tower_is_none_of_all():
    assert stated_decay(load_lift(old_programs.lifted("d_batch_norm"))) == {}


def test_an_old_graph_without_a_loss_tells_nothing():
    lift = load_lift(old_programs.lifted("b_adam_clip"))
    phases = [dataclasses.replace(phase, losses=[]) for phase in lift.plan.phases]
    assert stated_decay(dataclasses.replace(lift, plan=dataclasses.replace(lift.plan, phases=phases))) == {}


@pytest.mark.parametrize(
    "total, rate",
    [
        (lambda data, square, scale: data + 0.25 * square, 0.25),
        (lambda data, square, scale: data + 0.0, None),
        (lambda data, square, scale: (data + 0.25 * square) / 2.0, "unknown"),
        (lambda data, square, scale: data - (-0.25 * square), "unknown"),
        (lambda data, square, scale: data + scale * square, "unknown"),
    ],
)
@pytest.mark.parametrize("square", [tf.nn.l2_loss, lambda w: tf.reduce_sum(tf.square(w))])
def test_a_penalty_that_a_term_of_data_contains_is_not_taken_for_none(total, rate, square):
    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        x, scale = v1.placeholder(tf.float32, [4, 3], "x"), v1.placeholder_with_default(0.25, [], "scale")
        tf.identity(total(tf.reduce_mean(x @ w), square(w), scale), "loss")

    graph = traced(build)
    plan = mock.Mock(
        phases=[mock.Mock(losses=["loss:0"])],
        inputs=[mock.Mock(tensors=["x:0"]), mock.Mock(tensors=["scale:0"])],
        common=[],
        aliases={"w:0": "w", "w/read:0": "w"},
    )
    found = stated_decay(mock.Mock(plan=plan, graph=graph))
    if rate is None:
        assert found == {"penalized": ()}
    elif rate == "unknown" or square is not tf.nn.l2_loss:
        assert found == {}
    else:
        assert found == {"weight_decay": rate, "decayed": ("w",), "penalized": ("w",)}
