"""Random ops without a stateless twin, such as candidate samplers: a source states their seeds, each tower's own."""

import re

import pytest
import tensorflow as tf

from legacy.source.basics.cut import cutter_of
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, split_batch, towers

v1 = tf.compat.v1
#: Words of the vocabulary, and those that are sampled beside the true ones.
WORDS, SAMPLED = 12, 3


def variable(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def noise_contrastive():
    """Words that are told from sampled ones."""
    xs, w, b = split_batch(), variable("w", [WORDS, 3]), variable("b", [WORDS, 1])
    words = v1.placeholder(tf.int64, [TOWERS * BATCH, 1], name="words")

    def gradients(tower):
        own = words[tower * BATCH : (tower + 1) * BATCH]
        losses = tf.nn.nce_loss(w, tf.reshape(b, [-1]), own, xs[tower], SAMPLED, WORDS)
        return [tf.convert_to_tensor(one) for one in tf.gradients(tf.reduce_mean(losses), [w, b])]

    means = [tf.add_n(list(pair)) / TOWERS for pair in zip(*towers(gradients))]
    return v1.train.FtrlOptimizer(0.25).apply_gradients(zip(means, [w, b]))


@pytest.fixture(name="setup")
def _setup(tmp_path):
    return lifted(noise_contrastive, tmp_path)


def test_a_candidate_sampler_is_written_with_each_towers_seeds_and_trains_alike(setup, tmp_path):
    source = source_of(setup)
    assert "tf.raw_ops.LogUniformCandidateSampler(" in source.text
    assert source.text.count(")[scope.replica % 2],") == 2  # seed and seed2
    assert "old graph's bits" in source.text
    assert_trains_alike(setup, tmp_path, source)


def test_the_old_graph_draws_the_numbers_of_its_port(setup, tmp_path):
    source = source_of(setup, "workload")
    result = assert_port_verified(setup, tmp_path, source, replicated=False)
    assert result.stages["gradients"].tensors

    def other_seed(text):
        before, seed, after = text.partition("seed=(")
        return f"{before}{seed}1 + {after}"

    changed = assert_port_verified(setup, tmp_path, source, changed=other_seed, replicated=False)
    assert not changed.passed and changed.first.stage == "loss"


def test_a_part_of_the_graph_keeps_the_op(setup):
    plan, graph = setup.job.workload.plan, setup.job.workload.graph
    piece = cutter_of(plan, graph).piece([plan.phases[0].losses[0]], [t for e in plan.inputs for t in e.tensors])
    (sampler,) = [node for node in piece.graph_def.node if node.op.endswith("CandidateSampler")]
    assert sampler.attr["seed"].i > 0
    assert not any(feed.kind == "drawn" for feed in piece.feeds)


def dropped_in_a_loop():
    """A recurrent state with dropout, by a loop of 1.x of which no integer counts the turns."""
    xs, kernel = split_batch(), variable("kernel", [3, 3])

    def gradient(tower):
        def step(turn, state):
            state = tf.tanh(tf.matmul(state, kernel))
            drawn = tf.random.uniform(tf.raw_ops.Shape(input=state), seed=tower)  # each turn after the one before it
            return turn + 1.0, state * tf.cast(drawn > 0.5, tf.float32)

        _, last = v1.while_loop(lambda turn, state: turn < 3.0, step, [0.0, xs[tower]])
        return tf.gradients(tf.reduce_sum(last**2), [kernel])[0]

    return v1.train.GradientDescentOptimizer(0.25).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, kernel)])


def test_seeds_inside_a_loop_are_parameters_of_its_function(tmp_path):
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        setup = lifted(dropped_in_a_loop, tmp_path)
    finally:
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()
    source = source_of(setup, "workload")
    assert re.search(r"def \w+\(\w+, seed, seed2, \w+, \w+\):", source.text)
    assert "parallel_iterations=1" in source.text
    assert source.text.count(")[scope.replica % 2]") == 2 and "old graph's bits" in source.text
