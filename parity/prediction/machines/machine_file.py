"""Machines of one's own as JSON files: read, checked, and refused in one line.

{"name": "mine", "count": 2,
 "device": {"name": "RTX 2080", "flops": {"float32": 10.1e12}, "bandwidth": 448e9, "memory": 8e9, "launch": 8e-6},
 "host": {"name": "i9", "flops": {"float32": 1e12}, "bandwidth": 40e9, "memory": 64e9, "launch": 2e-6, "lanes": 8},
 "host_link": {"name": "PCIe 3.0 x8", "bandwidth": 6e9, "latency": 1e-5}}
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

from parity.prediction.machines.machine import TOPOLOGIES, Efficiency, Link, Machine, Processor
from workloads.support.errors import InputError, require


def read_machine(path: str) -> Machine:
    """Reads a machine; times in seconds, rates a second, sizes in bytes.

    Raises:
      InputError: the file cannot be read, or does not describe a machine.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise InputError(f"--devices: cannot read {path}: {error.strerror}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"--devices: {path} is not JSON: {error}")
    return machine_from_json(content, f"--devices: {path}")


def machine_from_json(content: Any, where: str) -> Machine:
    """Makes a machine from the content of a JSON file.

    Args:
      content: parsed JSON.
      where: beginning of messages, such as the file's name.

    Returns:
      the machine.

    Raises:
      InputError: something is missing, unknown or out of range.
    """
    fields = _object(content, Machine, where)
    for name in ("host", "device"):
        if fields.get(name) is not None:
            fields[name] = _processor(fields[name], f"{where}: {name}")
    for name in ("host_link", "peer_link", "ring_link", "network"):
        if fields.get(name) is not None:
            fields[name] = _link(fields[name], f"{where}: {name}")
    for name in ("host", "host_link"):
        require(fields[name] is not None, f"{where}: {name}", None, "must be an object")
    fields.setdefault("topology", Machine.topology)
    require(fields["topology"] in TOPOLOGIES, f"{where}: topology", fields["topology"], f"allowed: {list(TOPOLOGIES)}")
    fields["count"] = _count(fields["count"], f"{where}: count")
    for name in ("call", "function_call", "capture", "loop", "further_device", "feed"):
        fields[name] = _number(fields.get(name, 0.0), f"{where}: {name}", least=0.0)
    require(isinstance(fields["name"], str), f"{where}: name", fields["name"], "must be a text")
    sources = fields.get("sources", [])
    texts = isinstance(sources, list) and all(isinstance(text, str) for text in sources)
    require(texts, f"{where}: sources", sources, "must be a list of texts")
    return Machine(**{**fields, "sources": tuple(sources)})


def _object(content: Any, kind: type, where: str) -> dict[str, Any]:
    """Checks the names of an object's fields against a dataclass's."""
    require(isinstance(content, dict), where, content, "must be an object")
    known = dataclasses.fields(kind)
    names = [field.name for field in known]
    for name in content:
        require(name in names, where, name, "allowed: " + ", ".join(names))
    for field in known:
        optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        require(optional or field.name in content, where, sorted(content), f"lacks {field.name!r}")
    return dict(content)


def _processor(content: Any, where: str) -> Processor:
    fields = _object(content, Processor, where)
    fields["flops"] = {
        dtype: _number(rate, f"{where}: flops: {dtype}") for dtype, rate in _mapping(fields["flops"], where).items()
    }
    require("float32" in fields["flops"], f"{where}: flops", sorted(fields["flops"]), "lacks 'float32'")
    for name in ("bandwidth", "memory"):
        fields[name] = _number(fields[name], f"{where}: {name}")
    for name in ("launch", "hand_on"):
        fields[name] = _number(fields.get(name, 0.0), f"{where}: {name}", least=0.0)
    fields["lanes"] = _count(fields.get("lanes", 1), f"{where}: lanes")
    fields["efficiency"] = {
        kind: _efficiency(value, f"{where}: efficiency: {kind}")
        for kind, value in _mapping(fields.get("efficiency", {}), where).items()
    }
    return Processor(**fields)


def _efficiency(content: Any, where: str) -> Efficiency:
    shares = {name: value for name, value in _object(content, Efficiency, where).items() if value is not None}
    setup = _number(shares.pop("setup", 0.0), f"{where}: setup", least=0.0)
    return Efficiency(**{name: _number(value, f"{where}: {name}") for name, value in shares.items()}, setup=setup)


def _link(content: Any, where: str) -> Link:
    fields = _object(content, Link, where)
    bandwidth = _number(fields["bandwidth"], f"{where}: bandwidth")
    return Link(str(fields["name"]), bandwidth, _number(fields["latency"], f"{where}: latency", least=0.0))


def _mapping(content: Any, where: str) -> Mapping[str, Any]:
    require(isinstance(content, dict), where, content, "must be an object")
    mapping: Mapping[str, Any] = content
    return mapping


def _number(value: Any, where: str, least: float | None = None) -> float:
    """A finite number: above 0, or at least `least`."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if least is None:
        require(number and value > 0, where, value, "must be a number above 0")
    else:
        require(number and value >= least, where, value, f"must be a number, at least {least:g}")
    return float(value)


def _count(value: Any, where: str) -> int:
    require(isinstance(value, int) and not isinstance(value, bool) and value >= 1, where, value, "must be 1 or more")
    count: int = value
    return count
