"""Sums of all towers' results in a factor on their losses, at any number of replicas."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Definition, Infix, Listing, Literal, Name, Value, call
from legacy.source.basics.rendering import expression_text
from legacy.source.update.reduced_sums import with_reduced_sums
from modern.collectives.strategy import mirrored_strategy
from modern.options import ModernOptions
from tests.legacy.source import old_towers
from tests.legacy.source.test_trained_updates import words_of_all_towers
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import lifted

ONE, TWO = Value("a:0"), Value("b:0")
GIVEN = [Definition(("a:0",), Name("parts[0]")), Definition(("b:0",), Name("parts[1]"))]


def reduced(expression, more=()):
    definitions, names = with_reduced_sums([*GIVEN, Definition((), expression), *more], ["part"], 2)
    return [expression_text(one.expression) for one in definitions], names


@pytest.mark.parametrize("total", [call("tf.add_n", Listing((ONE, TWO))), Infix("+", ONE, TWO)])
def test_a_sum_of_all_towers_results_has_the_name_of_one(total):
    assert reduced(Infix("/", Literal(1.0), total)) == (["1.0 / part"], ["part"])


@pytest.mark.parametrize("other", [Infix("+", TWO, ONE), call("tf.maximum", ONE, TWO), Infix("+", ONE, ONE)])
def test_what_is_no_sum_in_their_order_stays_of_each_tower(other):
    assert reduced(other)[1] == []


def test_results_that_are_used_otherwise_too_are_gathered_alone():
    total = Definition((), Infix("+", ONE, TWO))
    assert reduced(call("tf.maximum", ONE, TWO), [total])[1] == []


def weights_after_a_step(module, replicas, batch):
    """{weight: array} of a standalone program after a step of some replicas, which share out a batch."""
    strategy = mirrored_strategy([f"CPU:{n}" for n in range(replicas)], ModernOptions(exact=True))
    trainer = module.Trainer(strategy, None)
    for name in module.WEIGHTS:
        trainer.variables[name].assign(tf.fill(trainer.variables[name].shape, 0.5))

    def part(context):
        return {name: tf.split(value, replicas)[context.replica_id_in_sync_group] for name, value in batch.items()}

    trainer.step(strategy.experimental_distribute_values_from_function(part), 0)
    return {name: strategy.experimental_local_results(trainer.variables[name])[0].numpy() for name in module.WEIGHTS}


def test_replicas_of_any_number_take_the_step_of_their_whole_batch(tmp_path):
    source = source_of(lifted(words_of_all_towers, tmp_path))
    path = tmp_path / "alone.py"
    path.write_text(source.text)
    module = old_towers.load(path, "alone")
    words = np.array([0, 1, 2, 3, 0, 0, 4, 1], np.int32)  # replicas have other numbers of words each
    batch = {"x": tf.random.stateless_uniform([8, 3], [1, 2]), "words": tf.constant(words)}
    one, two, four = (weights_after_a_step(module, replicas, batch) for replicas in (1, 2, 4))
    for name, array in one.items():
        assert not np.allclose(array, 0.5)
        np.testing.assert_allclose(two[name], array, rtol=1e-6)
        np.testing.assert_allclose(four[name], array, rtol=1e-6)
