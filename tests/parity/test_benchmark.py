"""The command `parity.benchmark`: its plan, its lines and its JSON, of results that are made up."""

import dataclasses

import pytest

from parity.comparison.result import Verification
from parity.speed.measurement import SpeedResult
from parity.speed.ratio import SpeedRatio
from parity.speed.timing import BlockTimes
from tests.cases import Dyadic, setup
from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    from parity import benchmark

SETTINGS = {"left": {"input": "feed"}, "right": {"input": "tf.data", "reduction": "TowerOrder"}}


def result(**fields):
    """Parity, and two blocks of 8 steps a side: legacy's take 1 s, the port's 0.5 s."""
    made = SpeedResult(setup(Dyadic()), Verification("auto", "locked", steps=5), SETTINGS)
    made.startup = {"left": 3.0, "right": 4.0}
    made.blocks = BlockTimes(8, [1.0, 1.0], [0.5, 0.5])
    made.ratio = SpeedRatio(2.0, 1.75, 2.25, 0)
    made.verdict = "faster"
    return dataclasses.replace(made, **fields)


def without_parity():
    failed = Verification("auto", "locked", passed=False, mismatched=["w: only on the left"])
    return result(verification=failed, startup={}, blocks=None, ratio=None, verdict="no parity")


def test_a_line_for_each_side_and_one_for_the_ratio():
    legacy, modern, ratio = benchmark.result_lines(result(), {"legacy": 3 * 2**20, "modern": None})
    assert legacy.startswith(
        "legacy  replicas=2 batch=8 (4 a replica) warmup=20 steps, 3.0 s blocks=2x8  64.0 examples/s"
    )
    assert legacy.endswith("median, MAD 0.0 %  peak 3 MiB")
    assert "128.0 examples/s" in modern and "peak" not in modern
    assert ratio == (
        "modern/legacy 2.000  95 % [1.750, 2.250]  faster (margin 5 %, higher is better); "
        "input: feed, tf.data; reduction: TowerOrder"
    )


def test_no_speed_is_shown_without_parity():
    (line,) = benchmark.result_lines(without_parity(), {})
    assert line.startswith("NO PARITY: variables do not match: w: only on the left: no speed is shown")


def test_json_has_speeds_and_blocks_by_side():
    content = benchmark.benchmark_json(result(), {"legacy": 1, "modern": 2})
    assert content["examples_per_second"] == {"legacy": 64.0, "modern": 128.0}
    assert content["block_seconds"] == {"legacy": [1.0, 1.0], "modern": [0.5, 0.5]}
    assert content["warmup_seconds"] == {"legacy": 3.0, "modern": 4.0} and content["steps_per_block"] == 8
    assert content["ratio"]["median"] == 2.0 and content["peak_bytes"] == {"legacy": 1, "modern": 2}


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
        return len(asked)

    monkeypatch.setattr(peak_memory, "measure_peak_memory", measure)
    made = result()
    queue = dataclasses.replace(made.setup.legacy, input="queue")
    made.setup = dataclasses.replace(made.setup, legacy=queue)
    assert benchmark.peak_bytes_if_asked(made, "mine:X") == {"legacy": 1, "modern": 2}
    flags, steps = asked["legacy"]
    assert "--legacy_input=queue" in flags and "--workload=mine:X" in flags and "--resident=false" in flags
    assert steps == 2 * benchmark.FLAGS.steps_per_call and "--all_reduce=tower_order" in asked["modern"][0]
    assert "--legacy_input=queue" not in asked["modern"][0]


@pytest.mark.parametrize(
    "values, resident, tune_input",
    [({}, True, False), ({"stream": True}, False, True), ({"data": "a.npz"}, False, True)],
)
def test_batches_are_resident_unless_they_stream(values, resident, tune_input, monkeypatch):
    asked = {}

    def make_setup(**arguments):
        asked.update(arguments)
        return setup(Dyadic())

    monkeypatch.setattr(benchmark.parity_flags, "setup_from_flags", make_setup)
    with set_flags(benchmark.FLAGS, **values):
        _, plan = benchmark.plan_from_flags("mine:X")
    assert asked == {"exact": False, "workload_name": "mine:X", "resident": resident}
    assert plan.tune_input is tune_input and (plan.blocks, plan.most_blocks, plan.seconds) == (20, 64, 0.25)


def test_an_input_that_was_asked_for_is_not_replaced(monkeypatch):
    monkeypatch.setattr(benchmark.parity_flags, "setup_from_flags", lambda **_: setup(Dyadic()))
    with set_flags(benchmark.FLAGS, stream=True, legacy_input="queue"):
        assert not benchmark.plan_from_flags()[1].tune_input


def test_the_most_blocks_are_not_fewer_than_the_least():
    refused = pytest.raises(InputError, match="--most_blocks: got 20, must not be below --blocks")
    with set_flags(benchmark.FLAGS, blocks=30, most_blocks=20), refused:
        benchmark.plan_from_flags()
