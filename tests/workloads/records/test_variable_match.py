"""Variables that begin alike follow their layer; where layers are not known, their place, and then their order."""

import numpy as np

from workloads.records.variable_match import LAYER, ORDER, Matching, ModelVariables, corresponding_layers

CHANNELS = 4


def normalization(scope, parts):
    """{name: initial value} of a batch normalization, whose scale and variance begin alike, as offset and mean do."""
    scale, offset, mean, variance = parts
    zeros, ones = np.zeros(CHANNELS), np.ones(CHANNELS)
    return {scope + scale: ones, scope + offset: zeros, scope + mean: zeros, scope + variance: ones}


def network(layers, scope, kernel, norm, parts):
    """The variables of convolutions with normalizations.

    Args:
      layers: (name, value of the kernel), in the order in which the model makes them.
      scope: of a layer, with its name for {}.
      kernel: last part of the kernel's name.
      norm: scope of the normalization within its layer.
      parts: names of its variables.
    """
    values = {}
    for name, value in layers:
        values[scope.format(name) + kernel] = np.full((3, CHANNELS), value)
        values.update(normalization(scope.format(name) + norm, parts))
    return ModelVariables(values, frozenset(name for name in values if name.endswith(parts[2:])))


TF_PARTS = ("gamma", "beta", "moving_mean", "moving_variance")
TORCH_PARTS = ("weight", "bias", "running_mean", "running_var")
LEGACY = network([("a", 1.0), ("b", 2.0), ("c", 3.0)], "net/{}/", "weights", "", TF_PARTS)
EXPECTED = {
    f"layers.{layer}.{torch}": f"net/{layer}/{tf}"
    for layer in "abc"
    for torch, tf in zip(("conv", *TORCH_PARTS), ("weights", *TF_PARTS))
}


def test_scales_offsets_and_statistics_follow_their_kernel_whatever_the_order():
    port = network([("b", 2.0), ("c", 3.0), ("a", 1.0)], "layers.{}.", "conv", "", TORCH_PARTS)
    found = Matching(LEGACY, port)
    assert found.names == EXPECTED
    assert {found.ways[name] for name in port.values if not name.endswith("conv")} == {LAYER}


def test_without_a_kernel_that_tells_layers_apart_the_order_remains_and_layers_stay_whole():
    port = network([("b", 5.0), ("a", 5.0), ("c", 5.0)], "layers.{}.", "conv", "", TORCH_PARTS)
    found = Matching(LEGACY, port)
    matched = {found.names[name] for name in port.values if name.startswith("layers.b.")}
    assert matched == {name for name in LEGACY.values if name.startswith("net/a/")}
    assert found.ways["layers.b.weight"] == ORDER


def test_a_normalization_of_its_own_scope_has_the_place_after_its_layer():
    port = network([("c", 3.0), ("a", 1.0), ("b", 2.0)], "layers.{}.", "conv", "bn.", TORCH_PARTS)
    found = Matching(LEGACY, port)
    assert found.names == {
        name.replace(".weight", ".bn.weight").replace(".bias", ".bn.bias").replace(".running", ".bn.running"): other
        for name, other in EXPECTED.items()
    }
    assert found.ways["layers.c.bn.weight"] == ORDER  # its place is a guess, which is reported


def test_places_do_not_count_where_the_sides_place_differently():
    """Legacy makes both normalizations after their layers, the port before them: their order is the better guess."""
    legacy = {"a/w": np.ones(2), "an/s": np.zeros(3), "b/w": np.full(2, 2.0), "bn/s": np.zeros(3)}
    port = {"n1/s": np.zeros(3), "x/w": np.ones(2), "n2/s": np.zeros(3), "y/w": np.full(2, 2.0)}
    names = Matching(ModelVariables(legacy), ModelVariables(port)).names
    assert names == {"x/w": "a/w", "y/w": "b/w", "n1/s": "an/s", "n2/s": "bn/s"}


def test_a_weight_is_never_matched_with_a_statistic():
    legacy = ModelVariables({"n/scale": np.ones(2), "n/variance": np.ones(2)}, frozenset(["n/variance"]))
    port = ModelVariables({"m.var": np.ones(2), "m.weight": np.ones(2)}, frozenset(["m.var"]))
    assert Matching(legacy, port).names == {"m.var": "n/variance", "m.weight": "n/scale"}


def test_layers_correspond_only_where_all_their_matches_agree():
    assert corresponding_layers({"x.w": "a/w", "x.b": "b/w"}) == {}
    assert corresponding_layers({"x.w": "a/w", "y.w": "a/b"}) == {}
    assert corresponding_layers({"w": "a/w"}) == {}  # a variable without a layer
