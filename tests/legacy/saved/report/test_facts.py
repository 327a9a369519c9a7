"""Facts of the small program of two towers, and texts for plans made by hand."""

import types

import pytest

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.report.facts import _ProgramFacts, description_fields, program_facts
from tests.legacy.saved.graphs import graph_of
from tests.legacy.saved.programs import saved_two_towers
from workloads.lifted.plan import Combine, Input, Noise


@pytest.fixture(scope="module")
def sections():
    saved = saved_two_towers()
    return program_facts(saved, analyse_graph(saved, "small"))


def by_topic(rows):
    return {row["what"]: row["is"] for row in rows}


def test_the_program_and_its_towers(sections):
    program, towers = by_topic(sections["program"]), by_topic(sections["towers"])
    assert program["train op"] == "train" and program["other ops that train"] == "none"
    assert program["settings fixed"] == "none" and program["nodes"].endswith("in a training step")
    assert towers == {
        "number": "2",
        "told apart by": "device /gpu:k",
        "batch of one": "4",
        "replicas of a port": "any number",
        "symmetry": "equal, op by op",
    }


def test_inputs_and_random_numbers(sections):
    (row,) = sections["inputs"]
    assert row["name"] == "x0" and row["shape"] == "[4, 2]" and row["enters by"] == "Placeholder x0:0"
    assert row["tensors"] == "x0:0, x1:0"
    (noise,) = sections["random numbers"]
    assert (noise["op"], noise["of"], noise["in a port"]) == ("RandomUniform", "tower", "keyed")


def test_variables_with_bytes_and_roles(sections):
    rows = {row["name"]: row for row in sections["variables"]}
    assert (rows["w"]["bytes"], rows["w"]["role"], rows["w"]["kind"]) == (8, "weight", "reference")
    assert rows["w/ExponentialMovingAverage"]["role"] == "average of w" and rows["seen"]["bytes"] == 4


def test_updates_of_statistics_and_averages(sections):
    (statistic,), (average,) = sections["statistics"], sections["moving averages"]
    assert (statistic["variable"], statistic["changed by"], statistic["op"]) == ("seen", "tower 0", "Assign")
    assert (average["of"], average["changed by"]) == ("w", "what is computed once")


def test_devices_by_number_of_ops(sections):
    counts = [row["ops"] for row in sections["devices"]]
    assert counts == sorted(counts, reverse=True) and len(counts) == 3
    assert "Const" not in "".join(row["mostly"] for row in sections["devices"])


def test_a_lifts_description(sections):
    fields = description_fields(sections)
    assert fields["inputs"] == "x0, float32, [4, 2]" and fields["clip"] == "no"
    assert fields["combine"] == "mean" and fields["learning_rate"] == "0.5, always"
    assert fields["statistics"] == "seen, tower 0" and fields["moving_average"] == "w/ExponentialMovingAverage, w"
    assert fields["watch"] == [row["what"] for row in sections["watch"]]


def test_an_empty_section_is_described_as_none(sections):
    assert description_fields(dict(sections, inputs=[]))["inputs"] == "none"


def warnings(
    losses=("loss:0",), loss_scale=1.0, kind="mean", towers=2, differences=(), inputs=(), noise=(), unsafe=(), notes=()
):
    """The sentences of "watch" for a plan made by hand."""
    combine = [Combine("w", kind, "sum:0", 1.0, [])]
    phase = types.SimpleNamespace(
        train_op="train",
        races=[],
        losses=losses,
        loss_scale=loss_scale,
        shared_loss=False,
        combine=combine,
        effects=[],
        crossings=[],
    )
    facts = _ProgramFacts.__new__(_ProgramFacts)
    facts._graph, facts._context = graph_of(""), types.SimpleNamespace(state=types.SimpleNamespace(rules=set()))
    facts._update_sources = []
    facts._learning = types.SimpleNamespace(learning_rates=lambda: [], sum_text=lambda phase: "gradients are summed")
    facts._plan = types.SimpleNamespace(
        towers=towers,
        batch=None,
        phases=[phase],
        differences=list(differences),
        inputs=list(inputs),
        noise=list(noise),
        common_noise=[],
        variables=[],
        unsafe=dict(unsafe),
        notes=list(notes),
    )
    return list(facts._warnings())


def test_nothing_to_watch_for_in_a_mean():
    assert warnings() == []


@pytest.mark.parametrize(
    "options, text",
    [
        ({"losses": ()}, "train: the gradient graph does not tell what is minimized; losses are not compared"),
        ({"notes": ["the loss has a shape"]}, "the loss has a shape"),
        ({"loss_scale": 0.5}, "train: each tower's loss counts 1/2: its sum over towers is a mean"),
        ({"kind": "sum"}, "train: gradients are summed"),
        ({"kind": "kept as written"}, "combining not recognised, kept as written: w"),
        ({"differences": ["a"]}, "the towers are not equal: see above; replicas run their own tower's graph"),
        (
            {"inputs": [Input("x", "float32", [4], "same", 0, [], "")]},
            "every tower gets the same data: x",
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


def test_one_tower_sums_what_it_likes():
    assert warnings(kind="sum", loss_scale=1.0, towers=1) == []


def test_a_sum_of_losses_that_count_one_half_is_a_mean():
    found = warnings(kind="sum", loss_scale=0.5)
    assert found == ["train: each tower's loss counts 1/2: its sum over towers is a mean"]
