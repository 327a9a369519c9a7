"""Noise on gradients: drawn once for all replicas where it is added to the mean, and by each tower where it adds it."""

import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Name
from legacy.source.basics.rendering import expression_text
from legacy.source.definitions.update_noise import noise_of_update
from tests.legacy.saved.facts.tower_pages import parts, program, squares
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted

v1 = tf.compat.v1


def built(update, of_tower=lambda gradient: gradient):
    """Returns a function that makes two towers, whose gradients `of_tower` changes, and returns the train op."""

    def build():
        x, gradients = parts("x", 8, 3), tf.gradients
        tf.gradients = lambda *given: [of_tower(gradient) for gradient in gradients(*given)]
        try:
            program(lambda tower: squares(tf.tanh(x(tower))), update)()
        finally:
            tf.gradients = gradients
        return v1.get_default_graph().get_operation_by_name("train")

    return build


def descent(pairs):
    v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(pairs, v1.train.get_or_create_global_step(), "train")


def on_the_mean(pairs):
    spread = 0.5 / (1.0 + tf.cast(v1.train.get_or_create_global_step(), tf.float32))
    descent([(gradient + spread * v1.random_normal(tf.shape(gradient)), weight) for gradient, weight in pairs])


def before_the_norm(pairs):
    drawn = [gradient + v1.random_uniform(gradient.shape) for gradient, _ in pairs]
    clipped, _ = tf.clip_by_global_norm(drawn, 0.5)
    descent(list(zip(clipped, [weight for _, weight in pairs])))


@pytest.mark.parametrize("update, drawn", [(on_the_mean, "normal"), (before_the_norm, "uniform")])
def test_noise_on_the_mean_is_drawn_once_for_all_replicas(update, drawn, tmp_path):
    setup = lifted(built(update), tmp_path)
    source = source_of(setup, "workload")
    assert f"scope.common.{drawn}(NOISES[" in source.text and "replicas: int" not in source.text
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    alone = lambda text: text.replace("scope.common.", "scope.")  # noqa: E731
    assert not assert_port_verified(setup, tmp_path, source, changed=alone).passed
    assert_trains_alike(setup, tmp_path)


def test_noise_of_each_tower_is_drawn_by_its_replica(tmp_path):
    noisy = lambda gradient: gradient + v1.truncated_normal(gradient.shape, stddev=0.25)  # noqa: E731
    setup = lifted(built(descent, noisy), tmp_path)
    source = source_of(setup, "workload")
    assert "noises = {name: scope.truncated_normal(NOISES[name], values[name].shape) for name in NOISES}" in source.text
    assert "replicas: int = 2" in source.text
    assert_port_verified(setup, tmp_path, source)
    alike = lambda text: text.replace("scope.truncated_normal(", "scope.common.truncated_normal(")  # noqa: E731
    assert not assert_port_verified(setup, tmp_path, source, changed=alike).passed
    assert_trains_alike(setup, tmp_path)


def test_a_second_noise_on_a_gradient_has_its_streams_name(tmp_path):
    def twice(pairs):
        descent([(g + v1.random_normal(g.shape, name="a") + v1.random_normal([], name="b"), w) for g, w in pairs])

    setup = lifted(built(twice), tmp_path)
    source = source_of(setup, "workload")
    assert 'scope.common.normal("a/RandomStandardNormal", values[' in source.text
    assert 'scope.common.normal("b/RandomStandardNormal", [])' in source.text
    assert_port_verified(setup, tmp_path, source)


def test_what_no_function_of_a_scope_draws_is_left_out(tmp_path):
    def with_gamma(pairs):
        descent([(gradient + v1.random_gamma([], 2.0) + v1.random_normal([]), weight) for gradient, weight in pairs])

    lift = lifted(built(with_gamma), tmp_path).job.workload
    (phase,) = lift.plan.phases
    given = {combine.tensor: Name(f'gradients["{combine.weight}"]') for combine in phase.combine}
    noise = noise_of_update(lift.plan, lift.graph, phase.effects, given, {})
    assert list(map(expression_text, noise.given.values())) == ['scope.common.normal(NOISES["w"], [])']
    other = noise_of_update(lift.plan, lift.graph, phase.effects, given, {"w": "the stream of another train op"})
    assert 'normal("random_normal/RandomStandardNormal"' in expression_text(*other.given.values())
