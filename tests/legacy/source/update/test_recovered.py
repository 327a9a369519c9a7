"""Names in the text of steps with their updates."""

import types

from legacy.source.update import recovered


def named(name, weights, groups):
    """Names of the lists of a train op's weights."""
    phase = types.SimpleNamespace(train_op=name, other_losses=[])
    path = types.SimpleNamespace(weights_of_losses=lambda: {0: weights})
    return recovered._named_groups(phase, path, False, groups)


def test_train_ops_whose_names_differ_by_a_number_have_lists_of_their_own():
    """A program without names for its train ops has Adam_2 for its discriminator and Adam for its generator."""
    groups = {}
    assert named("Adam_2", ["d"], groups) == ["ADAM_WEIGHTS"]
    assert named("Adam", ["g"], groups) == ["ADAM_WEIGHTS_2"]
    assert named("Adam_1", ["d"], groups) == ["ADAM_WEIGHTS"]
    assert groups == {"ADAM_WEIGHTS": ["d"], "ADAM_WEIGHTS_2": ["g"]}
