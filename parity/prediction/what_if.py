"""Gains of better machines: the predicted step where one thing is faster, such as the links."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from parity.prediction.machines.machine import Link, Machine, Processor
from parity.prediction.prediction import predict
from parity.prediction.step_graph import StepGraph


class Gain(NamedTuple):
    """The gain of one change.

    Attributes:
      change: in words.
      gain: speed with it over speed without; 1.0 if it does not help.
    """

    change: str
    gain: float


def gains(graph: StepGraph, machine: Machine) -> list[Gain]:
    """Returns the predicted gain of each change of a machine, largest first.

    The change at the top names the resource that binds: what the step waits for most.
    """
    before = predict(graph, machine).seconds
    found = [
        Gain(change, before / predict(graph, change_machine(machine)).seconds)
        for change, change_machine in CHANGES.items()
    ]
    return sorted(found, key=lambda row: -row.gain)


def binding_resource(found: Sequence[Gain]) -> str:
    """Returns the resource that is worth most to double or remove; see `gains`."""
    return RESOURCES[found[0].change]


def _of_device(machine: Machine, change: Callable[[Processor], Processor]) -> Machine:
    """Changes the processor on which the replicas compute."""
    if machine.device is None:
        return dataclasses.replace(machine, host=change(machine.host))
    return dataclasses.replace(machine, device=change(machine.device))


def _twice_compute(processor: Processor) -> Processor:
    return dataclasses.replace(processor, flops={dtype: 2 * rate for dtype, rate in processor.flops.items()})


def _twice_memory(processor: Processor) -> Processor:
    return dataclasses.replace(processor, bandwidth=2 * processor.bandwidth)


def _no_launch(processor: Processor) -> Processor:
    return dataclasses.replace(processor, launch=0.0, hand_on=0.0)


def _links(machine: Machine, change: Callable[[Link], Link]) -> Machine:
    def changed(link: Optional[Link]) -> Any:
        return None if link is None else change(link)

    links = {name: changed(getattr(machine, name)) for name in ("host_link", "peer_link", "ring_link")}
    return dataclasses.replace(machine, **links)


def _twice_host(machine: Machine) -> Machine:
    if machine.device is None:
        return machine
    host = _no_launch(_twice_memory(_twice_compute(machine.host)))
    host = dataclasses.replace(host, launch=machine.host.launch / 2, hand_on=machine.host.hand_on / 2)
    return dataclasses.replace(machine, host=host)


#: {change: function that applies it to a machine}.
CHANGES: dict[str, Callable[[Machine], Machine]] = {
    "twice the compute": lambda machine: _of_device(machine, _twice_compute),
    "twice the memory bandwidth": lambda machine: _of_device(machine, _twice_memory),
    "no launch cost": lambda machine: _of_device(machine, _no_launch),
    "twice the links' bandwidth": lambda machine: _links(
        machine, lambda link: dataclasses.replace(link, bandwidth=2 * link.bandwidth)
    ),
    "no latency of links": lambda machine: _links(machine, lambda link: dataclasses.replace(link, latency=0.0)),
    "twice the host's speed": _twice_host,
    "no cost of a call": lambda machine: dataclasses.replace(
        machine, call=0.0, function_call=0.0, capture=0.0, further_device=0.0
    ),
}

#: {change: the resource that binds if no other change gains more}.
RESOURCES = dict(
    zip(
        CHANGES,
        (
            "arithmetic of the devices",
            "memory bandwidth of the devices",
            "launching of ops",
            "bandwidth of the links",
            "latency of the links",
            "the host's CPU",
            "the call of a step",
        ),
    )
)
