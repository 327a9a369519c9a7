"""The proof of a source sees what the initial weights hide."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.source import old_tower
from legacy.source.made_up_tower import Tower, made_up_data, proof_states
from tests.legacy.source import old_towers
from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import TOWERS, lifted, mean_of, split_batch, sum_of_squares, towers, weights
from workloads.lifted.plan import Input
from workloads.support.errors import InputError

v1 = tf.compat.v1


def penalty_of_zero():
    """A penalty on a weight that starts at zero: its value and its gradient are zero at first."""
    xs = split_batch()
    with v1.variable_scope("net"):
        bias = v1.get_variable("b", [2], initializer=v1.zeros_initializer(), use_resource=False)

    def gradients(tower):
        return tf.gradients(sum_of_squares(xs[tower]) + 0.1 * tf.nn.l2_loss(bias), [weights(), bias])

    (w, b) = (tf.add_n(parts) / TOWERS for parts in zip(*towers(gradients)))
    return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(w, weights()), (b, bias)])


def test_a_penalty_that_is_zero_at_first_is_missed(tmp_path):
    lift = lifted(penalty_of_zero, tmp_path).job.workload
    assert not lift.values()["net/b"].any()
    text = source_of(lifted(penalty_of_zero, tmp_path), "workload").text
    for name, shown in (("whole", text), ("without", text.replace("0.1 * tf.nn.l2_loss", "0.0 * tf.nn.l2_loss"))):
        (tmp_path / f"{name}.py").write_text(shown)
    assert old_towers.differing(lift, old_towers.load(tmp_path / "whole.py", "whole"), 0) == []
    assert "net/b" in old_towers.differing(lift, old_towers.load(tmp_path / "without.py", "without"), 0)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_a_loss_of_another_float_type_is_written_by_the_style_that_may_have_it(dtype, tmp_path):
    """As the exponential of an error, which a program of chemistry takes in float64; a workload's loss is float32."""

    def program():
        xs = split_batch()
        (w,) = zip(*towers(lambda tower: tf.gradients(tf.exp(tf.cast(sum_of_squares(xs[tower]), dtype)), [weights()])))
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(w) / TOWERS, weights())])

    assert "tf.exp(" in source_of(lifted(program, tmp_path), "standalone").text
    if dtype == tf.float32:
        assert "tf.exp(" in source_of(lifted(program, tmp_path), "workload").text
    else:
        with pytest.raises(InputError, match="it is float64, and a workload's is float32; --style=standalone"):
            source_of(lifted(program, tmp_path), "workload")


def test_weights_are_moved_and_nothing_else_is():
    variables = [
        types.SimpleNamespace(name=name, role=role) for name, role in zip("wbsn", ["weight"] * 2 + ["other"] * 2)
    ]
    values = {"w": np.array([0.0, 8.0], "float32"), "b": np.zeros(2, "float32"), "s": np.ones(2), "n": np.int64(3)}
    first, second, larger = proof_states(types.SimpleNamespace(variables=variables), values)
    assert first is values and {n for n in values if not np.array_equal(first[n], second[n])} == {"w", "b"}
    assert 0.0 < np.abs(second["b"]).max() < 0.5 < np.abs(second["w"] - first["w"]).max() < 16.0
    assert second["w"].dtype == larger["w"].dtype == np.float32
    assert all(np.array_equal(larger[name], 8 * second[name] if name in "wb" else second[name]) for name in values)


def test_made_up_lengths_vary():
    lengths = Input("n", "int32", [None], "batch", 0, ["n:0", "n1:0"], "n", low=1)
    plan = types.SimpleNamespace(inputs=[lengths], common=[], batch=8, towers=2)
    data = made_up_data(Tower(plan, None, [], {}, [], 0, None, {}), 0)
    assert set(data["n"]) == {1, 2}


@pytest.mark.parametrize("has_full", [True, False])
def test_one_of_the_made_up_lengths_is_the_full_one_where_the_graph_needs_it(has_full):
    lengths = Input("n", "int32", [None], "batch", 9, ["n:0", "n1:0"], "n", low=1, has_full=has_full)
    plan = types.SimpleNamespace(inputs=[lengths], common=[], batch=2, towers=20)
    longest = [made_up_data(Tower(plan, None, {}, {}, [], 0, None, {}), tower)["n"].max() for tower in range(20)]
    assert (set(longest) == {8}) == has_full


def in_front_of_moments():
    """A normalization by moments in a branch: the gradient of what it normalizes has three parts, two of the branch."""
    xs, training = split_batch(), v1.placeholder(tf.bool, [], "is_training")
    with v1.variable_scope("net"):
        w = v1.get_variable("w", [3, 3], initializer=v1.random_normal_initializer(seed=1), use_resource=False)
        b = v1.get_variable("b", [3], initializer=v1.zeros_initializer(), use_resource=False)

    def gradients(tower):
        x = tf.matmul(xs[tower], w) + b
        moments = v1.cond(training, lambda: tf.nn.moments(x, [0]), lambda: (tf.zeros([3]), tf.ones([3])))
        x = tf.nn.batch_normalization(x, *moments, None, None, 1e-3)
        return tf.gradients(tf.reduce_mean(tf.sin(x) ** 3), [w, b])

    (of_w, of_b) = (tf.add_n(parts) / TOWERS for parts in zip(*towers(gradients)))
    return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(of_w, w), (of_b, b)])


def test_gradients_of_a_branch_are_added_before_those_of_other_uses(tmp_path):
    source = source_of(lifted(with_old_cond(in_front_of_moments), tmp_path), "workload")
    assert "tf.nn.moments(tf.identity(x), [0])" in source.text
    assert "loss, gradients and statistics of each tower have the old graph's bits on made-up numbers" in source.notes


def zeros_that_are_left(most):
    """A loss with as many zeros as are left of `most` when small numbers of the batch are counted."""

    def build():
        xs = split_batch()

        def gradient(tower):
            few = tf.reduce_sum(tf.cast(xs[tower] < 0.5, tf.int32))
            filled = tf.concat([tf.ones([few]), tf.zeros([most - few])], 0)
            loss = sum_of_squares(xs[tower]) * tf.reduce_mean(filled)
            return tf.gradients(loss, [weights()])[0]

        return mean_of(towers(gradient))

    return build


def test_numbers_that_the_program_does_not_run_with_are_drawn_again(tmp_path):
    """Of the first draw, the towers' batches have 9 and 8 small numbers, and of the second one 6 and 4."""
    source = source_of(lifted(zeros_that_are_left(7), tmp_path))
    assert "have the old graph's bits on made-up numbers" in source.text


def test_a_program_that_runs_with_no_numbers_drawn_is_refused(monkeypatch, tmp_path):
    setup = lifted(zeros_that_are_left(7), tmp_path)
    monkeypatch.setattr(old_tower, "_DRAWS", 1)
    with pytest.raises(InputError, match="an op does not run on these numbers"):
        source_of(setup)


@pytest.mark.parametrize("low", [0, 1])
def test_flags_are_of_both_kinds_where_the_graph_takes_both(low):
    entry = Input("flags", "bool", [8, 4], "batch", 0, ["flags:0"], "flags", low=low)
    plan = types.SimpleNamespace(inputs=[entry], common=[], batch=8, towers=1)
    flags = made_up_data(Tower(plan, None, [], {}, [], 0, None, None), 0)["flags"]
    assert flags.any() and flags.all() == bool(low)
