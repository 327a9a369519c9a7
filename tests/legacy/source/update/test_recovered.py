"""Names in the text of steps with their updates."""

import types

from legacy.source.update import recovered
from legacy.source.update.names import names_of_train_ops


def named(ops):
    """(names, lists of weights) of train ops, each a name and its weights."""
    phases = [types.SimpleNamespace(train_op=name, other_losses=[]) for name, _ in ops]
    paths = [types.SimpleNamespace(weights_of_losses=lambda own=own: {(0,): own}) for _, own in ops]
    names, groups = names_of_train_ops(phases, paths), {}
    return names, [recovered._named_groups(name, path, groups) for name, path in zip(names, paths)], groups


def test_train_ops_whose_names_differ_by_a_number_have_lists_of_their_own():
    """A program without names for its train ops has Adam_2 for its discriminator and Adam for its generator."""
    _, lists, groups = named([("Adam_2", ["d"]), ("Adam", ["g"]), ("Adam_1", ["d"])])
    assert lists == [["ADAM_WEIGHTS"], ["ADAM_WEIGHTS_2"], ["ADAM_WEIGHTS"]]
    assert groups == {"ADAM_WEIGHTS": ["d"], "ADAM_WEIGHTS_2": ["g"]}


def test_train_ops_that_are_named_after_an_optimizer_have_the_names_of_the_networks_that_they_train():
    names, lists, _ = named([("Adam", ["gan/d/w", "gan/d/b"]), ("Adam_1", ["gan/g/w"]), ("Adam_1", ["gan/g/w"])])
    assert [name.function for name in names] == ["train_d", "train_g", "train_g"]
    assert [name.loss for name in names] == ["d_loss", "g_loss", "g_loss"]
    assert lists == [["D_WEIGHTS"], ["G_WEIGHTS"], ["G_WEIGHTS"]]
    assert [name.function for name in named([("d_step", ["d/w"]), ("Adam", ["g/w"])])[0]] == ["d_step", "train_g"]
    assert [name.function for name in named([("Adam", ["n/w"]), ("Adam_1", ["n/w", "n/b"])])[0]] == ["adam", "adam"]


def test_losses_of_one_train_op_have_the_weights_of_the_network_that_they_train():
    path = types.SimpleNamespace(weights_of_losses=lambda: {(0,): ["g/w"], (1,): ["d/w"]})
    name = recovered.TrainOpName("train_step", "tower_loss", "WEIGHTS")
    assert recovered._named_groups(name, path, {}) == ["G_WEIGHTS", "D_WEIGHTS"]
