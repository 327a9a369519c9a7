"""Sentences on weights that a step treats in another way than others."""

import types

import pytest

from legacy.saved.facts.combining.unequal_weights import unequal_weight_sentences
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Effect, Variable

GRAPH = """
    v = VariableV2()
    w = VariableV2()
    loss = Mul(v, w)
    """


def sentences(clipped=("no", "no"), averages=(), trained=(("v", "w"),), writes=("v", "w"), has_loss=True):
    """What is said of a step with the weights v and w.

    Args:
      clipped: how the gradients of v and of w are clipped.
      averages: weights with a moving average.
      trained: for each train op, the weights that it trains.
      writes: variables that the graph changes.
      has_loss: whether the graph tells the loss that is differentiated.
    """
    variables = [Variable(name, [], "float32", "weight") for name in "vw"]
    variables += [Variable(name + "/average", [], "float32", "average", of=name) for name in averages]
    phases = [
        types.SimpleNamespace(
            train_op=f"train_{number}",
            losses=["loss:0"] if has_loss else [],
            combine=[types.SimpleNamespace(tensor="loss:0")],
            effects=[Effect(f"rule_{name}", "ApplyAdam", [name], []) for name in names],
        )
        for number, names in enumerate(trained)
    ]
    changed = {name for names in trained for name in names}
    analysed = types.SimpleNamespace(
        plan=types.SimpleNamespace(variables=variables),
        graph=graph_of(GRAPH),
        phases=phases,
        rules={"rule_v", "rule_w"},
        is_changed=changed.__contains__,
    )
    rows = [{"train op": "train_0", "are": "mean", "of": name, "clipped": how} for name, how in zip("vw", clipped)]
    return list(unequal_weight_sentences(analysed, rows, ["v", "w"], {"update_" + name: name for name in writes}))


@pytest.mark.parametrize(
    "options, text",
    [
        ({}, None),
        ({"clipped": ("by norm, at 5", "by norm, at 5"), "averages": ("v", "w")}, None),
        ({"clipped": ("by norm, at 5", "no")}, "train_0: clipping leaves out the gradient of w"),
        ({"averages": ("w",)}, "1 weight has no moving average: v"),
        ({"trained": (("v",),), "writes": ("v",)}, "no op changes 1 trainable variable that the loss depends on: w"),
        (
            {"trained": (("v",),), "writes": ("v",), "has_loss": False},
            "no op changes 1 trainable variable that gradients depend on: w",
        ),
        ({"trained": (("v",),)}, None),  # an op that other runs take trains w
        ({"trained": (("v", "w"), ("w",))}, "train_0 and train_1 both train 1 weight: w"),
        ({"trained": (("v",), ("w",))}, None),
    ],
)
def test_what_is_done_to_a_part_of_the_weights_is_said(options, text):
    assert sentences(**options) == ([] if text is None else [text])


def test_a_weight_of_which_one_gradient_is_clipped_is_said_to_have_others():
    """As of a weight that two optimizers train, one of which clips."""
    ways = (("v, w", "by norm, at 5"), ("w, u", "no"))
    rows = [{"train op": "train", "are": "mean", "of": of, "clipped": how} for of, how in ways]
    analysed = types.SimpleNamespace(
        plan=types.SimpleNamespace(variables=[]), graph=graph_of(GRAPH), phases=[], rules=(), is_changed=bool
    )
    assert list(unequal_weight_sentences(analysed, rows, [], {})) == [
        "train: clipping leaves out the gradient of u",
        "train: clipping leaves out some of the gradients of w",
    ]


@pytest.mark.parametrize("clipped", [("by norm, at 5", "no"), ("no", "by norm, at 5")])
def test_gradients_are_clipped_before_they_are_added_up_or_the_sums_behind_that(clipped):
    """As of a run that adds its gradients to those of runs before, and applies the sums."""
    ways = zip(("mean", "as added up in other runs"), ("sum_v, sum_w", "v, w"), clipped)
    rows = [{"train op": "train", "are": are, "of": of, "clipped": how} for are, of, how in ways]
    analysed = types.SimpleNamespace(
        plan=types.SimpleNamespace(variables=[]), graph=graph_of(GRAPH), phases=[], rules=(), is_changed=bool
    )
    assert not list(unequal_weight_sentences(analysed, rows, [], {}))
    rows.append({**rows[1], "of": "u", "clipped": {"no": "by norm, at 5"}.get(clipped[1], "no")})
    left = {"no": "the gradients of v, w"}.get(clipped[1], "the gradient of u")
    assert list(unequal_weight_sentences(analysed, rows, [], {})) == [f"train: clipping leaves out {left}"]
