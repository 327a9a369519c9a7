"""Machines: built in, and of JSON files, which are checked."""

import json
import os

import pytest

from parity.prediction.machines.built_in import MACHINES
from parity.prediction.machines.machine_file import machine_from_json, read_machine
from parity.prediction.machines.selection import machine_named
from tests.house import ROOT
from workloads.support.errors import InputError


def as_json(machine):
    """A machine as a JSON file has it."""
    return json.loads(json.dumps(machine.to_json()))


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_written_is_read(name):
    machine = MACHINES[name]
    assert machine_from_json(as_json(machine), "file") == machine
    assert machine.sources and machine.count >= 2


def test_a_name_has_the_number_of_devices():
    assert machine_named("v100x4").count == 4
    assert machine_named("k80").count == 1
    for text, why in (("v100x9", "v100 has 1 to 8 devices"), ("abacus", "allowed: gtx1060"), ("v100x0", "1 to 8")):
        with pytest.raises(InputError, match=why):
            machine_named(text)


def change(path, value):
    """A machine's JSON with the value at a path of names replaced; `None` removes it."""
    content = as_json(MACHINES["p100"])
    owner = content
    for name in path[:-1]:
        owner = owner[name]
    if value is None:
        del owner[path[-1]]
    else:
        owner[path[-1]] = value
    return content


@pytest.mark.parametrize(
    "path, value, message",
    [
        (["count"], 0, "file: count: got 0, must be 1 or more"),
        (["count"], True, "file: count: got True, must be 1 or more"),
        (["gpus"], 3, "file: got 'gpus', allowed: name, device"),
        (["host"], None, "lacks 'host'"),
        (["device", "bandwidth"], -1.0, "file: device: bandwidth: got -1.0, must be a number above 0"),
        (["device", "bandwidth"], "fast", "file: device: bandwidth: got 'fast', must be a number above 0"),
        (["device", "flops"], {"float64": 1.0}, "file: device: flops: got .'float64'., lacks 'float32'"),
        (["device", "flops"], 3, "file: device: got 3, must be an object"),
        (["device", "launch"], -1, "file: device: launch: got -1, must be a number, at least 0"),
        (["host_link", "latency"], float("nan"), "file: host_link: latency: got nan, must be a number, at least 0"),
        (["host_link"], [], "file: host_link: got .., must be an object"),
        (["topology"], "torus", "file: topology: got 'torus', allowed:"),
        (["sources"], "mine", "file: sources: got 'mine', must be a list of texts"),
    ],
)
def test_what_is_no_machine_is_refused_by_name(path, value, message):
    with pytest.raises(InputError, match=message):
        machine_from_json(change(path, value), "file")


def test_the_example_of_the_documentation_is_a_machine():
    with open(os.path.join(ROOT, "docs", "predict.md"), encoding="utf-8") as file:
        example = file.read().partition("```json")[2].partition("```")[0]
    machine = machine_from_json(json.loads(example), "docs/predict.md")
    assert machine.count == 2 and machine.device.efficiency["other kinds"].memory == 0.8


def test_files_that_cannot_be_read_are_refused(tmp_path):
    broken = tmp_path / "machine.json"
    broken.write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        read_machine(str(broken))
    with pytest.raises(InputError, match="cannot read .*none.json: No such file"):
        machine_named(str(tmp_path / "none.json"))
