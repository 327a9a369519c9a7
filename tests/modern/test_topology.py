"""The description of devices and links, with and without GPUs, from made-up machines."""

import io

from rich.console import Console

from modern.collectives.gpu_links import Gpus, Link
from tests.own_flags import own_flags

with own_flags(shared=False):
    from modern import topology


def machine(monkeypatch, seen, kinds=("CPU", "GPU", "GPU")):
    """The description of a machine whose GPUs NVIDIA's library shows as `seen`."""
    found = [
        {"name": f"/{kind}:{i}", "type": kind, "logical": [f"{kind}:{i}"], "details": {}}
        for i, kind in enumerate(kinds)
    ]
    monkeypatch.setattr(topology, "list_devices", lambda logical_cpus: found)
    monkeypatch.setattr(topology, "read_gpus_here", lambda: seen)
    return topology.describe_topology(2)


def printed(result):
    """The tables as text."""
    file = io.StringIO()
    topology.print_topology(result, Console(file=file, width=120))
    return file.getvalue()


def test_without_gpus_it_says_so(monkeypatch):
    result = machine(monkeypatch, None, ("CPU",))
    assert result["links"] == [] and "no GPUs" in result["note"] and "all_reduce" not in result
    assert "no GPUs" in printed(result) and "--all_reduce" not in printed(result)


def test_links_memory_and_a_suggestion(monkeypatch):
    link = Link(0, 1, True, 4, "board")
    result = machine(monkeypatch, Gpus([link], [2**30, 2**31]))
    assert [device["details"] for device in result["devices"]] == [{}, {"memory": "1.0 GiB"}, {"memory": "2.0 GiB"}]
    assert result["links"] == [vars(link)] and result["islands"] == [(0, 1)] and result["note"] is None
    text = printed(result)
    assert "0 - 1" in text and f"--all_reduce={result['all_reduce']}: " in text


def test_gpus_whose_links_cannot_be_read_are_listed_with_the_reason(monkeypatch):
    result = machine(monkeypatch, "NVIDIA's management library says: no driver")
    assert result["note"].endswith("no driver") and result["links"] == [] and "islands" not in result
    assert "no driver" in printed(result)


def test_the_cpus_logical_devices_are_its_own():
    cpus = [device for device in topology.list_devices(8) if device["type"] == "CPU"]
    assert len(cpus) == 1 and cpus[0]["logical"] == [f"CPU:{index}" for index in range(8)]
