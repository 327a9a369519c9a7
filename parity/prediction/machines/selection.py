"""Selection of a machine by the text of `--devices`: a built-in one, or a JSON file."""

from __future__ import annotations

import dataclasses
import re

from parity.prediction.machines.built_in import MACHINES
from parity.prediction.machines.machine import Machine
from parity.prediction.machines.machine_file import read_machine
from workloads.support.errors import require
from workloads.support.wording import counted

#: "v100x8": a built-in machine's name and the number of its accelerators.
_COUNTED = re.compile(r"([a-z0-9]+?)x([0-9]{1,6})")

#: Text of `--devices` for the CPU of this machine, which has to be measured.
THIS_CPU = "cpu"

ALLOWED = f"allowed: {', '.join(MACHINES)}, each with a number of devices, such as gtx1060x2; a .json file; {THIS_CPU}"


def machine_named(text: str) -> Machine:
    """Returns the machine that `--devices` names: "v100x8", or the path of a JSON file.

    A name without a number stands for one accelerator. `THIS_CPU` is not among them; see `calibration`.

    Raises:
      InputError: there is no such machine, or it is not for so many accelerators.
    """
    if text.endswith(".json"):
        return read_machine(text)
    match = _COUNTED.fullmatch(text)
    name, count = (match.group(1), int(match.group(2))) if match else (text, 1)
    require(name in MACHINES, "--devices", text, ALLOWED)
    machine = MACHINES[name]
    require(1 <= count <= machine.count, "--devices", text, f"{name} has 1 to {counted(machine.count, 'device')}")
    return dataclasses.replace(machine, name=text, count=count)
