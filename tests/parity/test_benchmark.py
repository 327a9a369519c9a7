"""The command `parity.benchmark`: its plan, its lines and its JSON, of results that are made up."""

import dataclasses

import pytest

from parity.comparison.result import Verification
from parity.reports.speed_text import result_lines
from parity.speed.names import INPUTS, LEGACY, LEGACY_INPUTS, MODERN, ONE_DEVICE, RESIDENT, STREAMED
from parity.speed.speed_result import Contestant, SpeedResult
from tests.cases import Dyadic, setup
from tests.own_flags import own_flags, set_flags
from tests.parity.speed.scripts import script
from workloads.support.errors import InputError

with own_flags():
    from parity import benchmark

SETTINGS = {"left": {"input": "feed"}, "right": {"input": "tf.data", "reduction": "TowerOrder"}}


def contestant(name, kind, seconds, **fields):
    settings = {LEGACY: SETTINGS["left"], MODERN: SETTINGS["right"]}.get(name, {})
    verification = Verification("auto", "locked", steps=5) if name == MODERN else None
    blocks = [seconds] * 2 if seconds else []
    made = Contestant(name, kind, 8, settings, verification, startup=3.0, steps=8, seconds=blocks)
    return dataclasses.replace(made, **fields)


def result(*more, inputs=(RESIDENT,)):
    """Parity, and two blocks of 8 steps a program: legacy's take 1 s, the port's 0.5 s, one device's 2 s."""
    contestants = [
        contestant(name, kind, seconds)
        for kind in inputs
        for name, seconds in ((LEGACY, 1.0), (MODERN, 0.5), (ONE_DEVICE, 2.0))
    ]
    return SpeedResult(dict.fromkeys(inputs, setup(Dyadic())), [*contestants, *more])


def without_parity():
    failed = Verification("auto", "locked", passed=False, mismatched=["w: only on the left"])
    port = contestant(MODERN, RESIDENT, None, verification=failed)
    return SpeedResult({RESIDENT: setup(Dyadic())}, [contestant(LEGACY, RESIDENT, None), port])


def test_a_line_for_each_program_and_one_for_the_ratio():
    legacy, modern, one_device, ratio = result_lines(result(), {"legacy": 3 * 2**20, "modern": None}, 20)
    assert legacy.startswith(
        "legacy     resident replicas=2 batch=8 (4 a replica) warmup=20 steps, 3.0 s blocks=2x8  64.0 examples/s"
    )
    assert legacy.endswith("median, MAD 0.0 %  0.500 [0.500, 0.500] of the port's speed  peak 3 MiB")
    assert "128.0 examples/s" in modern and "peak" not in modern
    assert one_device.startswith("one device resident batch=8 ")
    assert "32.0 examples/s" in one_device and "0.250 [0.250, 0.250] of the port's speed" in one_device
    assert ratio == (
        "modern/legacy resident 2.000  95 % [2.000, 2.000]  faster (margin 5 %, higher is better); "
        "input: feed, tf.data; reduction: TowerOrder"
    )


def test_lines_say_the_input_and_why_a_program_has_no_speed():
    mine = contestant("mine", STREAMED, None, problem="died")
    lines = list(result_lines(result(mine, inputs=INPUTS), {}, 20))
    assert lines[6] == "mine       streamed  not timed: died"
    assert lines[7].startswith("modern/legacy resident") and lines[8].startswith("modern/legacy streamed")


def test_no_speed_is_shown_without_parity():
    (line,) = result_lines(without_parity(), {}, 20)
    assert line.startswith("NO PARITY: variables do not match: w: only on the left: no speed is shown")


def test_json_has_speeds_and_blocks_by_side():
    content = benchmark.benchmark_json(result(), {"legacy": 1, "modern": 2})
    assert content["examples_per_second"] == {"legacy": 64.0, "modern": 128.0}
    assert content["block_seconds"] == {"legacy": [1.0, 1.0], "modern": [0.5, 0.5]}
    assert content["warmup_seconds"] == {"legacy": 3.0, "modern": 3.0} and content["steps_per_block"] == 8
    assert content["ratio"]["median"] == 2.0 and content["peak_bytes"] == {"legacy": 1, "modern": 2}


def test_json_has_every_program_relative_to_the_port():
    mine = contestant("mine", STREAMED, 0.25)
    content = benchmark.benchmark_json(result(mine, inputs=INPUTS), {})
    found = {(c["name"], c["input"]): c["ratio"]["median"] for c in content["contestants"]}
    assert found["one device", RESIDENT] == 0.25 and found["mine", STREAMED] == 2.0
    assert found["modern", RESIDENT] == found["modern", STREAMED] == 1.0
    assert content["input"] == RESIDENT and set(content["ratios"]) == set(content["verdicts"]) == set(INPUTS)
    assert {c["name"]: c["parity"] for c in content["contestants"]} == {
        "legacy": None, "modern": "parity", "one device": None, "mine": None,
    }  # fmt: skip


def test_json_without_parity_has_no_speed():
    content = benchmark.benchmark_json(without_parity(), {})
    assert content["verdict"] == "no parity" and content["parity"]["verdict"] == "no parity"
    assert not {"ratio", "examples_per_second", "block_seconds"} & set(content)


def test_json_has_the_flags_that_were_given():
    with set_flags(benchmark.FLAGS, warmup=7):
        assert benchmark.benchmark_json(result(), {})["flags"] == {"warmup": 7}


def test_memory_is_not_measured_without_parity_or_against_the_flag():
    assert benchmark.peak_bytes_if_asked(without_parity(), "regression") == {}
    with set_flags(benchmark.FLAGS, memory=False):
        assert benchmark.peak_bytes_if_asked(result(), "regression") == {}


def test_memory_is_measured_with_the_input_that_was_timed(monkeypatch):
    from parity.speed import peak_memory

    asked = {}

    def measure(side, flags, steps):
        asked[side] = flags, steps
        return {"legacy": 1, "modern": 2}[side]

    monkeypatch.setattr(peak_memory, "measure_peak_memory", measure)
    made = result()
    queue = dataclasses.replace(made.setup.legacy, input="queue")
    made.setups = {RESIDENT: dataclasses.replace(made.setup, legacy=queue)}
    assert benchmark.peak_bytes_if_asked(made, "mine:X") == {"legacy": 1, "modern": 2}
    flags, steps = asked["legacy"]
    assert "--legacy_input=queue" in flags and "--workload=mine:X" in flags and "--resident=false" in flags
    assert steps == 2 * benchmark.FLAGS.steps_per_call and "--all_reduce=tower_order" in asked["modern"][0]
    assert "--legacy_input=queue" not in asked["modern"][0]


@pytest.mark.parametrize(
    "values, inputs",
    [
        ({}, [RESIDENT, STREAMED]),
        ({"stream": True}, [STREAMED]),
        ({"resident": True}, [RESIDENT]),
        ({"inputs": ["streamed", "resident"]}, [RESIDENT, STREAMED]),
        ({"inputs": ["streamed"], "stream": True}, [STREAMED]),
        ({"data": "a.npz"}, [STREAMED]),
    ],
)
def test_batches_are_resident_and_streamed_unless_flags_say_otherwise(values, inputs, monkeypatch):
    asked = []

    def make_setup(**arguments):
        asked.append(arguments)
        return setup(Dyadic())

    monkeypatch.setattr(benchmark.parity_flags, "setup_from_flags", make_setup)
    with set_flags(benchmark.FLAGS, **values):
        setups, plan = benchmark.plan_from_flags("mine:X")
    assert list(setups) == inputs
    assert asked == [{"exact": False, "workload_name": "mine:X", "resident": kind == RESIDENT} for kind in inputs]
    assert plan.tried_inputs == (LEGACY_INPUTS if STREAMED in inputs else ()) and (
        plan.blocks,
        plan.most_blocks,
        plan.seconds,
    ) == (20, 64, 0.25)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"inputs": ["fast"]}, "--inputs: got 'fast', allowed: resident, streamed, or both"),
        ({"inputs": []}, "--inputs: got '', allowed"),
        ({"inputs": ["resident"], "stream": True}, "--inputs: got 'resident', with --stream: streamed"),
        ({"resident": True, "stream": True}, "--resident: got True, not with --stream"),
        ({"inputs": ["resident"], "data": "a.npz"}, "--data: got 'a.npz', is streamed only"),
        ({"resident": True, "data_dir": "a"}, "--data_dir: got 'a', is streamed only"),
    ],
)
def test_inputs_that_contradict_each_other_are_refused(values, message):
    with set_flags(benchmark.FLAGS, **values), pytest.raises(InputError, match=message):
        benchmark.inputs_from_flags()


def test_an_input_that_was_asked_for_is_not_replaced(monkeypatch):
    monkeypatch.setattr(benchmark.parity_flags, "setup_from_flags", lambda **_: setup(Dyadic()))
    with set_flags(benchmark.FLAGS, stream=True, legacy_input="queue"):
        assert not benchmark.plan_from_flags()[1].tried_inputs


def test_inputs_that_legacy_does_not_have_are_refused(monkeypatch):
    monkeypatch.setattr(benchmark.parity_flags, "setup_from_flags", lambda **_: setup(Dyadic()))
    refused = pytest.raises(InputError, match="--tried_inputs: got 'feed,resident', allowed: feed, split")
    with set_flags(benchmark.FLAGS, tried_inputs=["feed", "resident"]), refused:
        benchmark.plan_from_flags()


def test_the_most_blocks_are_not_fewer_than_the_least():
    refused = pytest.raises(InputError, match="--most_blocks: got 20, must not be below --blocks")
    with set_flags(benchmark.FLAGS, blocks=30, most_blocks=20), refused:
        benchmark.plan_from_flags()


def test_other_programs_are_files_separated_by_commas_in_one_flag_or_several(tmp_path):
    first, second, third = (script(tmp_path, "", name) for name in "abc")
    with set_flags(benchmark.FLAGS, others=[f"{first},{second}", third]):
        assert benchmark.other_paths() == [first, second, third]
    assert benchmark.other_paths() == []


@pytest.mark.parametrize("text", ["none", "", "none,/bin/sh"])
def test_other_programs_are_checked_first(text):
    refused = pytest.raises(InputError, match="--others: got '(none)?', no such file")
    with set_flags(benchmark.FLAGS, others=[text]), refused:
        benchmark.other_paths()
