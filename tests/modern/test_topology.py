"""The description of devices and links, with and without GPUs, from made-up machines."""

import io

from rich.console import Console

from modern.collectives.gpu_links import Gpus, Link
from tests.own_flags import own_flags

with own_flags(shared=False):
    from modern import topology


def machine(monkeypatch, seen, kinds=("CPU", "GPU", "GPU")):
    """The description of a machine whose GPUs NVIDIA's library shows as `seen`."""
    found = [topology.Device(f"/{kind}:{i}", kind, [f"{kind}:{i}"], {}) for i, kind in enumerate(kinds)]
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
    assert "no GPUs" in printed(result) and "--all_reduce" not in printed(result)
    assert result.to_json() == {
        "devices": [{"name": "/CPU:0", "type": "CPU", "logical": ["CPU:0"], "details": {}}],
        "links": [],
        "note": "no GPUs: replicas run on logical devices of the CPU, which share its memory",
    }


def test_links_memory_and_a_suggestion(monkeypatch):
    link = Link(0, 1, True, 4, "board")
    result = machine(monkeypatch, Gpus([link], [2**30, 2**31]))
    assert [device.details for device in result.devices] == [{}, {"memory": "1.0 GiB"}, {"memory": "2.0 GiB"}]
    content = result.to_json()
    assert content["links"] == [vars(link)] and content["islands"] == [(0, 1)] and content["note"] is None
    text = printed(result)
    assert "0 - 1" in text and f"--all_reduce={content['all_reduce']}: {content['why']}" in " ".join(text.split())


def test_gpus_whose_links_cannot_be_read_are_listed_with_the_reason(monkeypatch):
    result = machine(monkeypatch, "NVIDIA's management library says: no driver")
    assert result.note.endswith("no driver") and result.links == () and "islands" not in result.to_json()
    assert "no driver" in printed(result)


def test_a_library_that_shows_no_gpus_adds_nothing(monkeypatch):
    result = machine(monkeypatch, Gpus([], []))
    assert result.note is None and result.suggestion is None and "all_reduce" not in result.to_json()


def test_the_cpus_logical_devices_are_its_own():
    cpus = [device for device in topology.list_devices(8) if device.type == "CPU"]
    assert len(cpus) == 1 and cpus[0].logical == [f"CPU:{index}" for index in range(8)]
