"""Names of slots and averages, made of their weights' names."""

import types

import pytest

from legacy.source.basics.unwritten import Unwritten
from legacy.source.replica_step.variable_names import name_of_averages, named_after


@pytest.mark.parametrize(
    "name, weight, text",
    [
        ("net/w/Adam", "net/w", 'name + "/Adam"'),
        ("train/net/w/Adam_1", "net/w", 'f"train/{name}/Adam_1"'),
        ("net/net/w/Adam", "net/w", 'f"net/{name}/Adam"'),
        ("w/w/Adam", "w", 'f"w/{name}/Adam"'),  # the weight's own name comes last
    ],
)
def test_a_name_is_made_of_the_weights(name, weight, text):
    assert named_after(name, weight).text == text
    assert eval(text, {"name": weight}) == name


@pytest.mark.parametrize("name", ["Variable_1", "net/w2/Adam", "net/w"])
def test_other_names_are_refused(name):
    with pytest.raises(Unwritten, match="is not named after its weight, 'net/w'"):
        named_after(name, "net/w")


@pytest.mark.parametrize("second, ok", [("ema/b/mean", True), ("b/mean", False), ("ema/b/average", False)])
def test_averages_are_named_alike(second, ok):
    names = {"w": "ema/w/mean", "b": second}
    variables = [types.SimpleNamespace(name=name, of=of, role="average") for of, name in names.items()]
    plan = types.SimpleNamespace(variables=[*variables, types.SimpleNamespace(name="w", of="", role="weight")])
    if ok:
        assert name_of_averages(plan) == ("ema/", "/mean")
    else:
        with pytest.raises(Unwritten, match="2 ways"):
            name_of_averages(plan)
