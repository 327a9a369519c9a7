"""Random numbers that a `while` loop of 1.x draws anew in each iteration, as dropout in a recurrent cell does."""

import pytest
import tensorflow as tf

from legacy.source.source import write_source
from tests.commands import run
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers
from workloads.support.errors import InputError

v1 = tf.compat.v1
TURNS = 3


def kept(state):
    return tf.nn.dropout(state, rate=0.5)


def kernel():
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable("kernel", [3, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)


def mean(gradients):
    return tf.add_n(gradients) / TOWERS


def least(gradients):
    return tf.where(tf.abs(gradients[0]) < tf.abs(gradients[1]), *gradients)


def recurrent(tmp_path, draw=kept, combine=mean, loops=1):
    """The lift of a state that goes through the same weights several times, with random numbers in each turn."""

    def build():
        xs = split_batch()

        def gradient(tower):
            def step(turn, state):
                return turn + 1, tf.tanh(tf.matmul(draw(state), kernel()))

            last = xs[tower]
            for _ in range(loops):
                _, last = v1.while_loop(lambda turn, state: turn < TURNS, step, [0, last])
            return tf.gradients(tf.reduce_mean(last**2), [kernel()])[0]

        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(combine(towers(gradient)), kernel())])

    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        return lifted(build, tmp_path)
    finally:
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()


def with_normal_noise(state):
    return state + 0.5 * tf.random.normal(tf.shape(state))


def with_integers(state):
    return state * tf.cast(tf.random.uniform([], 1, 4, dtype=tf.int32), tf.float32)


def with_classes(state):
    return state * tf.cast(v1.multinomial(tf.zeros([1, 3]), 1), tf.float32)


@pytest.mark.parametrize(
    "draw, function",
    [
        (kept, "uniform"),
        (with_normal_noise, "normal"),
        (with_integers, "integers"),
        (with_classes, "categorical"),
    ],
)
def test_numbers_of_each_turn_are_those_of_the_old_graph(draw, function, tmp_path):
    setup = recurrent(tmp_path, draw)
    source = source_of(setup, "workload")
    assert f"scope.{function}(" in source.text and ", turn=turn)" in source.text and "(Workload):" in source.text
    assert "have the old graph's bits" in source.text and "+ 0.0" not in source.text  # a draw is never -0.0
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_loops_that_differ_by_their_random_numbers_share_a_function(tmp_path):
    setup = recurrent(tmp_path, loops=2)
    source = source_of(setup, "workload")
    assert source.text.count("_step(") + source.text.count("_step2(") == 3  # a function, and a call in each loop
    assert '"while/dropout"' in source.text and '"while_1/dropout"' in source.text
    assert_workload_verified(setup, tmp_path, source)
    with pytest.raises(InputError, match="the port draws none for 'tower_0/while_1/dropout"):
        assert_workload_verified(setup, tmp_path, source, lambda text: text.replace("while_1/", "while/"))


def test_the_same_numbers_in_every_turn_are_seen(tmp_path):
    setup = recurrent(tmp_path)
    source = source_of(setup, "workload")
    same = assert_workload_verified(setup, tmp_path, source, lambda text: text.replace(", turn=turn)", ", turn=0)"))
    assert not same.passed and same.first.stage == "loss"


def test_numbers_that_are_drawn_before_the_loop_are_refused_by_name(tmp_path):
    setup = recurrent(tmp_path)
    source = source_of(setup, "workload")
    with pytest.raises(InputError, match="is drawn in a loop, and the port's 'while/dropout' drawn once a step"):
        assert_workload_verified(setup, tmp_path, source, lambda text: text.replace(", turn=turn)", ")"))


def test_a_step_of_its_own_with_a_loop_is_verified(tmp_path):
    """The tracing of a loop starts TensorFlow, which must have a device for each replica by then."""
    setup = recurrent(tmp_path, combine=least)
    source = source_of(setup, "workload")
    assert "(StepWorkload):" in source.text
    write_source(str(tmp_path / "port.py"), source)
    flags = [f"--workload={tmp_path / 'port.py'}:PORT", f"--against={tmp_path / 'lifted'}", "--steps=2"]
    process = run("parity.verify", *flags, "--tolerance=exact")
    assert process.returncode == 0, process.stderr + process.stdout
