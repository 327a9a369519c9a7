"""The command `parity.benchmark`: its plan and its flags, on results that are made up."""

import dataclasses

import pytest

from parity.speed.names import LEGACY_INPUTS, RESIDENT, STREAMED
from tests.cases import Dyadic, setup
from tests.own_flags import own_flags, set_flags
from tests.parity.speed.made_up_results import result, without_parity
from tests.parity.speed.scripts import script
from workloads.support.errors import InputError

with own_flags():
    from parity import benchmark


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
