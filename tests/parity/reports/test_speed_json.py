"""A speed measurement as JSON."""

from parity.reports.speed_json import speed_json
from parity.speed.names import INPUTS, RESIDENT, STREAMED
from tests.parity.speed.made_up_results import contestant, result, without_parity


def test_json_has_speeds_and_blocks_by_side():
    content = speed_json(result(), {"legacy": 1, "modern": 2}, 20)
    assert content["warmup_steps"] == 20
    assert content["examples_per_second"] == {"legacy": 64.0, "modern": 128.0}
    assert content["block_seconds"] == {"legacy": [1.0, 1.0], "modern": [0.5, 0.5]}
    assert content["warmup_seconds"] == {"legacy": 3.0, "modern": 3.0} and content["steps_per_block"] == 8
    assert content["ratio"]["median"] == 2.0 and content["peak_bytes"] == {"legacy": 1, "modern": 2}


def test_json_has_every_program_relative_to_the_port():
    mine = contestant("mine", STREAMED, 0.25)
    content = speed_json(result(mine, inputs=INPUTS), {}, 20)
    found = {(c["name"], c["input"]): c["ratio"]["median"] for c in content["contestants"]}
    assert found["one device", RESIDENT] == 0.25 and found["mine", STREAMED] == 2.0
    assert found["modern", RESIDENT] == found["modern", STREAMED] == 1.0
    assert content["input"] == RESIDENT and set(content["ratios"]) == set(content["verdicts"]) == set(INPUTS)
    assert {c["name"]: c["parity"] for c in content["contestants"]} == {
        "legacy": None, "modern": "parity", "one device": None, "mine": None,
    }  # fmt: skip


def test_json_without_parity_has_no_speed():
    content = speed_json(without_parity(), {}, 20)
    assert content["verdict"] == "no parity" and content["parity"]["verdict"] == "no parity"
    assert not {"ratio", "examples_per_second", "block_seconds"} & set(content)
