"""Sentences on what to watch in a port, for plans made by hand."""

import types

import pytest

from legacy.saved.facts import watch
from legacy.saved.facts.updates.learning_rates import LearningRate
from legacy.saved.facts.variable_updates import VariableUpdate
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Combine, Input, Noise, Race

#: Losses of one number, but for that of each example.
SHAPES = types.SimpleNamespace(shape=lambda name, output: (4,) if name == "each" else ())
CONTEXT = types.SimpleNamespace(
    state=types.SimpleNamespace(rules=set()), imported=SHAPES, towers=types.SimpleNamespace(masks={})
)


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    """A short sentence on sums, and none on what has tests of its own: decays, factors, gradients, unequal means."""
    monkeypatch.setattr(watch, "sum_text", lambda step, phase: "gradients are summed")
    monkeypatch.setattr(watch, "only_corrects_bias", lambda context, rate, counter: rate == "corrected:0")
    monkeypatch.setattr(watch, "decay_sentences", lambda step, phase: ())
    monkeypatch.setattr(watch, "multiplied_gradients", lambda step, phase: ())
    monkeypatch.setattr(watch, "_of_overrides", lambda step: ())
    monkeypatch.setattr(watch, "unequal_mean_sentences", lambda step, phase: ())
    monkeypatch.setattr(watch, "ratio_sentences", lambda step, phase: ())
    monkeypatch.setattr(watch, "idle_counter_sentences", lambda step, rates: ())
    monkeypatch.setattr(watch, "examples_of_tower", lambda step: step.plan.batch)
    monkeypatch.setattr(watch, "is_summed", lambda step, phase, combine: combine.kind == "sum")
    monkeypatch.setattr(watch, "is_no_sum", lambda step, phase: False)


def warnings(
    losses=("loss:0",),
    loss_scale=1.0,
    kind="mean",
    towers=2,
    differences=(),
    inputs=(),
    noise=(),
    unsafe=(),
    notes=(),
    statistics=(),
    batch=None,
    rates=(),
    counters=(),
    changed=True,
    adds=(),
    races=(),
    parts=((), ()),
    gradients=(),
    turns=1,
    unsure=False,
    accumulators=(),
    combines=True,
    shared=False,
    joined=(),
    beside=(),
):
    """The sentences of "watch" for a plan made by hand."""
    combine = [Combine("w", kind, "sum:0", 1.0, list(map(list, parts)))] if combines else []
    phase = types.SimpleNamespace(
        train_op="train",
        races=list(races),
        losses=losses,
        gradients=list(gradients),
        loss_scale=loss_scale,
        shared_loss=shared,
        combine=combine,
        effects=[
            types.SimpleNamespace(node="count", op="AssignAdd", writes=list(counters), addend=value) for value in adds
        ],
        crossings=[],
        joined_beside=list(joined),
    )
    plan = types.SimpleNamespace(
        towers=towers,
        batch=batch,
        phases=[phase] * turns,
        differences=list(differences),
        inputs=list(inputs),
        common=[],
        sources={},
        noise=list(noise),
        common_noise=[],
        variables=[types.SimpleNamespace(name=name, role="counter") for name in counters],
        unsafe=dict(unsafe),
        notes=list(notes),
        changed_beside=list(beside),
        factors_of_towers=[],
    )
    is_counter = set(counters).__contains__
    step = types.SimpleNamespace(
        plan=plan,
        graph=graph_of("rows = Placeholder()\ncount = Shape(rows)"),
        context=CONTEXT,
        clippings=None,
        rules=set(),
        accumulators=set(accumulators),
        is_counter=is_counter,
        is_changed=lambda name: changed,
        addend=lambda effect: effect.addend,
        may_be_its_own=lambda phase: unsure,
        probe=types.SimpleNamespace(weights=lambda combine: None),
        numbers=types.SimpleNamespace(of=int),
    )
    return list(watch.sentences(step, statistics, rates))


def test_statistics_that_each_tower_changes_in_turn_are_told():
    assert warnings(beside=["mean"]) == [
        "each tower changes mean in turn; replicas of another number than 2 make the changes of 2 towers all the "
        "same, by results of the first and the last one"
    ]


def test_variables_that_take_all_towers_results_in_another_way_are_told():
    assert warnings(joined=["worst"]) == [
        "train: how results of all towers set worst is not recognised; replicas of another number than 2 set it from "
        "the first and the last tower's"
    ]


def test_nothing_to_watch_for_in_a_mean():
    assert warnings() == []
    assert warnings(losses=(), combines=False, turns=2) == []  # a turn that clips or copies weights
    assert warnings(kind="sum", shared=True, losses=("each:0",)) == []  # whatever is made of all of them
    assert warnings(loss_scale=0.5, unsure=True) == []  # perhaps the half of a square


@pytest.mark.parametrize(
    "options, text",
    [
        *[
            (
                {"losses": (), **options},
                "train: the gradient graph does not tell what is minimized; losses are not compared",
            )
            for options in ({}, {"combines": False}, {"turns": 2})
        ],
        (
            {"losses": (), "gradients": ({}, {"w": "g:0"})},
            "train: the loss of tower 1 alone is differentiated; losses are not compared",
        ),
        ({"notes": ["the loss has a shape"]}, "the loss has a shape"),
        ({"kind": "sum"}, "train: gradients are summed"),
        ({"kind": "sum", "shared": True}, "train: gradients are summed"),
        ({"kind": "kept as written"}, "combining not recognised, kept as written: w"),
        ({"differences": ["a"]}, "the towers are not equal: see above; replicas run their own tower's graph"),
        (
            {"inputs": [Input("x", "float32", [4], "same", 0, ["x:0"], "")]},
            "every tower gets the same data: x",
        ),
        (
            {"inputs": [Input("rows", "float32", [4], "same", 0, ["rows:0"], "")]},
            "every tower uses the shape alone of: rows",
        ),
        (
            {"noise": [Noise("n", "RandomGamma", "seeded", ["n"])]},
            "some random ops have no stateless twin; they are reproducible by seed and order only",
        ),
        ({"unsafe": {"n": "PyFunc"}}, "n (PyFunc) runs Python, touches files or reaches the network"),
    ],
)
def test_what_to_watch_for(options, text):
    assert warnings(**options) == [text]


@pytest.mark.parametrize("kept, count", [(["sum"], 0), ([], 1)])
def test_a_run_that_differentiates_nothing_beside_sums_of_gradients_has_no_unknown_loss(kept, count):
    """It sets the sums back, or applies them."""
    assert len(warnings(losses=(), gradients=[[], []], accumulators=kept)) == count


def test_many_races_of_one_kind_are_one_sentence():
    races = [Race(f"v{number}", "read", "update", "read") for number in range(5)]
    assert warnings(races=races[:2]) == ["race: " + race.text for race in races[:2]]
    assert warnings(races=[*races, Race("v0", "update", "read", "read")]) == [
        "race: 5 variables (v0, v1, v2 and 2 more) may be read before or after they are changed, such as v0 by read "
        "before or after update; taken before",
        "race: " + Race("v0", "update", "read", "read").text,
    ]


def test_one_tower_sums_what_it_likes():
    assert warnings(kind="sum", loss_scale=1.0, towers=1) == []


def test_losses_that_are_divided_and_averaged_keep_their_divisor():
    assert warnings(loss_scale=0.5) == [
        "train: each tower's loss is divided by 2, and their gradients are averaged besides; replicas of another "
        "number divide by 2, too"
    ]


def test_a_sum_of_losses_that_count_one_half_is_a_mean():
    found = warnings(kind="sum", loss_scale=0.5)
    assert found == ["train: each tower's loss counts 1/2: its sum over towers is a mean"]
    (other,) = warnings(kind="sum", loss_scale=0.5, unsure=True)
    assert other.startswith("train: each tower's loss has the factor 1/2; the sum over towers is a mean if that stands")


@pytest.mark.parametrize(
    "makers, expected",
    [
        ({"s": [(0,)]}, ["1 statistic follows the first tower's batches only"]),
        ({"s": [(0,)], "t": [(0,)]}, ["2 statistics follow the first tower's batches only"]),
        ({"s": [(0,)], "t": [(1,)]}, ["each tower keeps 1 statistic of its own batches, such as s"]),
        ({"s": [(0,)], "t": [(0,)], "u": [(1,)]}, ["2 statistics follow the first tower's batches only"]),
        ({"s": [(0,), (1,)]}, []),
        ({"s": [(0, 1)]}, []),
        ({"s": [()]}, []),
    ],
)
def test_statistics_of_the_first_tower_alone(makers, expected):
    updates = [
        VariableUpdate(variable, "", towers, "-", "AssignSub") for variable, each in makers.items() for towers in each
    ]
    assert warnings(statistics=updates) == expected


@pytest.mark.parametrize(
    "constants, train_op, towers, expected",
    [
        ((0.5, 1000.0), "train", 2, 1),
        ((0.5, 2.0), "train", 2, 0),  # divides by the towers
        ((0.5, 16.0), "train", 2, 0),  # by the examples of all towers
        ((0.5, 8.0), "train", 2, 0),  # by the examples of one tower, which is a hazard
        ((0.5, 1000.0), "other", 2, 0),
        ((0.5, 1000.0), "train", 1, 0),
    ],
)
def test_a_schedule_without_the_number_of_towers(constants, train_op, towers, expected):
    rate = LearningRate(train_op, "rate:0", "a function", "-", ("global_step",), constants)
    found = warnings(towers=towers, batch=8, rates=[rate, rate], counters=["global_step"])
    assert len(found) == expected and all("the schedule counts updates (global_step)" in text for text in found)
    assert warnings(towers=towers, batch=8, rates=[rate._replace(is_level=True)], counters=["global_step"]) == []


def test_a_learning_rate_that_corrects_the_bias_of_moments_is_no_schedule():
    rates = [LearningRate("train", "corrected:0", "a function", "-", ("global_step",), (0.9, 0.999))]
    assert warnings(towers=2, batch=8, rates=rates, counters=["global_step"]) == []


def test_a_schedule_of_towers_that_update_alone_counts_no_updates_of_all_examples():
    rate = LearningRate("train", "rate:0", "a function", "-", ("global_step",), (1000.0,))
    found = warnings(kind="kept as written", parts=[["g:0"], []], rates=[rate], counters=["global_step"])
    assert found == ["train: gradients of tower 0 alone are applied to w"]


def test_a_learning_rate_that_reads_no_counter_is_no_schedule():
    rate = LearningRate("train", "rate:0", "the value of step_size", "-", ("step_size",), ())
    assert warnings(rates=[rate], counters=["step"]) == []


@pytest.mark.parametrize("changed, expected", [(True, 1), (False, 0)])
def test_a_schedule_of_what_other_runs_count_counts_no_updates(changed, expected):
    """Such as the steps of a game, which the program adds to its counter after each episode."""
    rate = LearningRate("train", "rate:0", "a function", "-", ("global_step",), (1000.0,))
    assert len(warnings(rates=[rate], counters=["global_step"], changed=changed)) == expected


@pytest.mark.parametrize("adds, expected", [((1.0,), 1), ((None,), 1), ((1.0, 1.0), 0), ((16.0,), 0)])
def test_a_schedule_of_a_counter_that_rises_otherwise_counts_no_updates(adds, expected):
    """Such as one that each of several optimizers counts, or that counts examples."""
    rate = LearningRate("train", "rate:0", "a function", "-", ("seen",), (1000.0,))
    assert len(warnings(rates=[rate], counters=["seen"], adds=adds)) == expected


def test_a_train_op_of_several_turns_is_described_once():
    races = [Race("w", "average", "train", reader="average")]
    assert warnings(races=races, turns=2) == warnings(races=races)


@pytest.mark.parametrize("accumulators, text", [((), "2 x 8 examples, and"), (("kept",), "2 x 8 examples of each run")])
def test_an_update_is_of_the_examples_of_all_runs_that_it_adds_up(accumulators, text):
    rate = LearningRate("train", "rate:0", "a function", "-", ("global_step",), (0.5, 1000.0))
    (found,) = warnings(towers=2, batch=8, rates=[rate], counters=["global_step"], accumulators=accumulators)
    assert f"the schedule counts updates (global_step), each of {text}" in found


def test_python_in_the_model_is_told_apart_from_ops_that_a_step_runs(monkeypatch):
    monkeypatch.setattr(watch, "python_in_model", lambda plan: {"n": "PyFunc"})
    assert warnings(unsafe={"n": "PyFunc", "m": "ReadFile"}) == [
        "n (PyFunc) is Python in the model, whose code is not in the graph: its results would be data",
        "m (ReadFile) runs Python, touches files or reaches the network",
    ]
