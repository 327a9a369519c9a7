"""The description of devices and links, with and without GPUs, from made-up machines."""

import importlib
import io

import pytest
from absl import flags
from rich.console import Console

from modern.collectives.gpu_links import Gpus, Link


@pytest.fixture(scope="module")
def topology():
    """The module, with flag values of its own: other commands define flags of the same names in this process."""
    values, kept = flags.FlagValues(), (flags.DEFINE_string, flags.DEFINE_integer)
    flags.DEFINE_string, flags.DEFINE_integer = (_into(values, define) for define in kept)
    try:
        return importlib.import_module("modern.topology")
    finally:
        flags.DEFINE_string, flags.DEFINE_integer = kept


def _into(values, define):
    return lambda *arguments, **named: define(*arguments, **{**named, "flag_values": values})


def machine(topology, monkeypatch, seen, kinds=("CPU", "GPU", "GPU")):
    """The description of a machine whose GPUs NVIDIA's library shows as `seen`."""
    found = [
        {"name": f"/{kind}:{i}", "type": kind, "logical": [f"{kind}:{i}"], "details": {}}
        for i, kind in enumerate(kinds)
    ]
    monkeypatch.setattr(topology, "list_devices", lambda logical_cpus: found)
    monkeypatch.setattr(topology, "read_gpus_here", lambda: seen)
    return topology.describe_topology(2)


def printed(topology, result):
    """The tables as text."""
    file = io.StringIO()
    topology.print_topology(result, Console(file=file, width=120))
    return file.getvalue()


def test_without_gpus_it_says_so(topology, monkeypatch):
    result = machine(topology, monkeypatch, None, ("CPU",))
    assert result["links"] == [] and "no GPUs" in result["note"] and "all_reduce" not in result
    assert "no GPUs" in printed(topology, result) and "--all_reduce" not in printed(topology, result)


def test_links_memory_and_a_suggestion(topology, monkeypatch):
    link = Link(0, 1, True, 4, "board")
    result = machine(topology, monkeypatch, Gpus([link], [2**30, 2**31]))
    assert [device["details"] for device in result["devices"]] == [{}, {"memory": "1.0 GiB"}, {"memory": "2.0 GiB"}]
    assert result["links"] == [vars(link)] and result["islands"] == [(0, 1)] and result["note"] is None
    text = printed(topology, result)
    assert "0 - 1" in text and f"--all_reduce={result['all_reduce']}: " in text


def test_gpus_whose_links_cannot_be_read_are_listed_with_the_reason(topology, monkeypatch):
    result = machine(topology, monkeypatch, "NVIDIA's management library says: no driver")
    assert result["note"].endswith("no driver") and result["links"] == [] and "islands" not in result
    assert "no driver" in printed(topology, result)


def test_the_cpus_logical_devices_are_its_own(topology):
    cpus = [device for device in topology.list_devices(8) if device["type"] == "CPU"]
    assert len(cpus) == 1 and cpus[0]["logical"] == [f"CPU:{index}" for index in range(8)]
