"""Faults of random programs, and the hazards that name them."""

from __future__ import annotations

import dataclasses
import random
from typing import NamedTuple

from tests.legacy.random_programs.traits import Traits


class Fault(NamedTuple):
    """A fault of a program.

    Attributes:
      hazards: names of which the page must have one.
      demands: {trait: its value} of programs that can have the fault.
      besides: hazards that may follow from the fault.
    """

    hazards: tuple[str, ...]
    demands: dict[str, tuple[object, ...]] = {}
    besides: tuple[str, ...] = ()


_COMBINED = ("stack", "add_n", "python sum")
_SCOPES = ("tower_%d", "gpu%d", "clone_%d/model")
_SCHEDULED = ("exponential", "staircase", "pieces", "polynomial", "cosine", "warm-up")
FAULTS = {
    "same batch": Fault(("SAME_BATCH",)),
    "labels of the first tower": Fault(("INPUTS_NOT_PAIRED", "SAME_BATCH"), besides=("TARGET_UNUSED",)),
    "last tower's gradients": Fault(
        ("GRADIENTS_DROPPED",),
        {"combine": _COMBINED},
        ("LOSS_NOT_MINIMIZED", "TARGET_UNUSED", "STATISTICS_OF_OTHER_DATA"),
    ),
    "penalty of the first tower": Fault(("REGULARIZATION_ONCE",), {"penalty": ("matrices",), "combine": _COMBINED}),
    "penalty not minimized": Fault(("REGULARIZATION_LOST",), {"penalty": ("matrices", "all")}),
    "step of every tower": Fault(("STEP_COUNTS_TOWERS", "STEP_COUNTED_TWICE")),
    "updates never run": Fault(("UPDATES_NEVER_RUN",), {"model": ("batch norm of each",)}),
    "last loss reported": Fault(("REPORTED_BY_ONE_TOWER",), {"report": ("mean loss",)}),
    "biases summed": Fault(("MIXED_COMBINING",), {"combine": _COMBINED}),
    "rectified logits": Fault(
        ("LOGITS_ACTIVATED",),
        {"inputs": ("split", "slices", "each", "iterator"), "loss": ("softmax", "one-hot softmax", "sum / batch")},
    ),
    "softmax twice": Fault(
        ("LOGITS_ACTIVATED",),
        {"inputs": ("split", "slices", "each", "iterator"), "loss": ("softmax", "one-hot softmax", "sum / batch")},
    ),
    "divided twice": Fault(("LOSS_DIVIDED_TWICE",), {"combine": _COMBINED, "loss": ("softmax", "one-hot softmax")}),
    "variables of each tower": Fault(
        ("VARIABLES_NOT_SHARED",),
        {"combine": _COMBINED, "average": ("none",)},
        ("TOWERS_UPDATE_ALONE", "MOMENTUM_OF_EACH_TOWER", "UPDATES_NEVER_RUN"),
    ),
    "average before update": Fault(("AVERAGE_BEFORE_UPDATE",), {"average": ("after", "of steps")}),
    "schedule unused": Fault(("LEARNING_RATE_FROZEN",), {"rate": _SCHEDULED}),
    "backward on one device": Fault(("BACKWARD_ON_ONE_DEVICE",), {"combine": ("one loss",)}),
    "rows overlap": Fault(("ROWS_OVERLAP",), {"inputs": ("slices",)}),
    "rows left out": Fault(("ROWS_LEFT_OUT",), {"inputs": ("slices",)}, ("BATCH_SIZE_CONSTANT", "SUM_BESIDE_MEAN")),
    "tower on the CPU": Fault(("TOWER_ON_CPU",)),
    "one device": Fault(("TOWERS_SHARE_DEVICE",), {"scope": _SCOPES}),
    "another count": Fault(("GRADIENTS_DIVIDED_BY_ANOTHER_COUNT",), {"combine": ("add_n", "python sum")}),
    "global batch": Fault(
        ("BATCH_SIZE_CONSTANT",), {"combine": _COMBINED, "loss": ("sum / batch",), "besides": ("nothing", "auxiliary")}
    ),
    "towers update alone": Fault(
        ("TOWERS_UPDATE_ALONE",),
        {"combine": _COMBINED, "clip": ("no",), "optimizer": ("descent", "momentum", "Adam")},
        ("MOMENTUM_RACE",),
    ),
    "rate times towers": Fault(
        ("LEARNING_RATE_SCALED_WITH_SUM",),
        {"combine": ("sum",), "loss": ("softmax",), "rate": _SCHEDULED, "optimizer": ("descent", "momentum")},
    ),
}


def can_have(traits: Traits, fault: str) -> bool:
    """Returns whether a program with these traits can have a fault."""
    return all(getattr(traits, name) in values for name, values in FAULTS[fault].demands.items())


def with_fault(traits: Traits, seed: int) -> Traits:
    """Returns a program with a fault drawn at random, whose traits are such that it can have it."""
    generator = random.Random(seed)
    fault = generator.choice(sorted(FAULTS))
    demanded = {name: values for name, values in FAULTS[fault].demands.items() if getattr(traits, name) not in values}
    changed = {name: generator.choice(values) for name, values in demanded.items()}
    return dataclasses.replace(traits, fault=fault, **changed)  # type: ignore[arg-type]
