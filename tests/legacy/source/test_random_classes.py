"""Classes that towers draw by their logits, such as actions of a policy: `scope.categorical`, with the old bits."""

import re

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, split_batch, towers
from workloads import tracing
from workloads.frame import CATEGORICAL
from workloads.job import Job
from workloads.numerics import gradient_sums

v1 = tf.compat.v1
CLASSES = 5


@pytest.fixture(autouse=True)
def graphs_of_1x():
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    with gradient_sums.added_in_order(False):
        yield
    if was_v2:
        v1.enable_control_flow_v2()


def program(make_loss):
    """Towers whose loss `make_loss(tower, examples, kernel)` draws classes."""

    def build():
        xs = split_batch()
        initializer = v1.glorot_uniform_initializer(seed=1)
        kernel = v1.get_variable("kernel", [3, CLASSES], initializer=initializer, use_resource=False)
        gradients = towers(lambda tower: tf.gradients(make_loss(tower, xs[tower], kernel), [kernel])[0])
        optimizer = v1.train.MomentumOptimizer(0.25, 0.5)
        return optimizer.apply_gradients([(tf.add_n(gradients) / TOWERS, kernel)])

    return build


def policy(samples=1, dtype=tf.int64):
    def loss(tower, x, kernel):
        logits = tf.matmul(x, kernel)
        actions = tf.random.categorical(logits, samples, dtype=dtype)[:, 0]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits))

    return loss


def decoder(tower, x, kernel):
    """Each turn of a loop draws a class, and the next one depends on it."""

    def turn(number, rows):
        logits = tf.matmul(rows, kernel)
        drawn = tf.random.categorical(logits, 1)[:, 0]
        return number + 1, tf.tanh(tf.matmul(tf.one_hot(drawn, CLASSES) * logits, tf.transpose(kernel)))

    _, last = v1.while_loop(lambda number, rows: number < 3, turn, [0, x])
    return tf.reduce_sum(last**2)


@pytest.mark.parametrize(
    "loss, text",
    [
        (policy(), r'scope\.categorical\("[\w/]+", \w+, 1\)'),
        (policy(3), r'scope\.categorical\("[\w/]+", \w+, 3\)'),
        (policy(1, tf.int32), r"tf\.cast\(scope\.categorical\(.*\), tf\.int32\)"),
        (decoder, r"scope\.categorical\(.*, 1, turn=\w+\)"),
    ],
)
def test_classes_are_drawn_with_the_bits_of_the_old_graph(loss, text, tmp_path):
    setup = lifted(program(loss), tmp_path)
    source = source_of(setup, "workload")
    assert re.search(text, source.text) and "have the old graph's bits" in "".join(source.notes)
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


@pytest.mark.parametrize("change", [("logits, 1)", "logits * 0.5, 1)"), ("logits, 1)", "-logits, 1)")])
def test_other_probabilities_are_seen(change, tmp_path):
    setup = lifted(program(policy()), tmp_path)

    def changed(text):
        assert change[0] in text
        return text.replace(*change)

    other = assert_workload_verified(setup, tmp_path, source_of(setup, "workload"), changed)
    assert not other.passed and other.first.stage == "loss"


def test_a_trace_knows_the_classes_that_a_model_draws(tmp_path):
    setup = lifted(program(policy()), tmp_path)
    path = tmp_path / "port.py"
    path.write_text(source_of(setup, "workload").text)
    space = {}
    exec(path.read_text(), space)
    job = Job(space["PORT"], TOWERS, TOWERS * BATCH)
    (noise,) = tracing.trace_noise(job.workload, BATCH, "float32").values()
    assert noise.kind == CATEGORICAL and noise.shape is None and not noise.in_loop
