import dataclasses

import pytest
import tensorflow as tf

from modern.options import modern_options
from modern.options.modern_options import ModernOptions
from workloads.support.errors import InputError


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("all_reduce", "gossip", "--all_reduce: got 'gossip', allowed: auto, ring"),
        ("update_rules", "tf2", "--update_rules: got 'tf2', allowed: tf1, keras"),
        ("autodiff", "forward", "--autodiff: got 'forward', allowed: graph, tape, new"),
        ("steps_per_call", 0, "--steps_per_call: got 0, must be at least 1"),
    ],
)
def test_another_value_is_refused_in_one_line(field, value, message):
    with pytest.raises(InputError) as refused:
        ModernOptions(**{field: value})
    assert message in str(refused.value)


@pytest.mark.parametrize("all_reduce", modern_options.ALL_REDUCE)
def test_every_listed_all_reduce_is_accepted(all_reduce):
    assert ModernOptions(all_reduce=all_reduce, steps_per_call=1).all_reduce == all_reduce


def test_the_options_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModernOptions().exact = True


@pytest.mark.parametrize("exact, grappler", [(True, "off"), (False, "on")])
def test_grappler_is_as_the_report_says(exact, grappler):
    before = tf.config.optimizer.get_experimental_options()
    options = ModernOptions(exact=exact)
    options.configure_grappler()
    assert tf.config.optimizer.get_experimental_options()["disable_meta_optimizer"] is exact
    assert options.describe_grappler() == grappler
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False, **before})


def test_differentiation_is_described_by_the_function_that_does_it():
    described = [ModernOptions(autodiff=autodiff).describe_autodiff() for autodiff in ("graph", "tape")]
    assert described == ["tf.gradients", "tf.GradientTape"]
