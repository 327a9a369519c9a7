"""Made-up results of speed measurements."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from parity.comparison.result import Verification
from parity.speed.names import LEGACY, MODERN, ONE_DEVICE, RESIDENT
from parity.speed.speed_result import Contestant, SpeedResult
from tests.cases import Dyadic, setup

SETTINGS = {"left": {"input": "feed"}, "right": {"input": "tf.data", "reduction": "TowerOrder"}}


def contestant(name: str, kind: str, seconds: float | None, **fields: Any) -> Contestant:
    """Returns a program with two blocks of so many seconds, or none."""
    settings = {LEGACY: SETTINGS["left"], MODERN: SETTINGS["right"]}.get(name, {})
    verification = Verification("auto", "locked", steps=5) if name == MODERN else None
    blocks = [seconds] * 2 if seconds else []
    made = Contestant(name, kind, 8, settings, verification, startup=3.0, steps=8, seconds=blocks)
    return dataclasses.replace(made, **fields)


def result(*more: Contestant, inputs: Sequence[str] = (RESIDENT,)) -> SpeedResult:
    """Parity, and two blocks of 8 steps a program: legacy's take 1 s, the port's 0.5 s, one device's 2 s."""
    contestants = [
        contestant(name, kind, seconds)
        for kind in inputs
        for name, seconds in ((LEGACY, 1.0), (MODERN, 0.5), (ONE_DEVICE, 2.0))
    ]
    return SpeedResult(dict.fromkeys(inputs, setup(Dyadic())), [*contestants, *more])


def without_parity() -> SpeedResult:
    """Returns the result where the port has other variables than the towers."""
    failed = Verification("auto", "locked", passed=False, mismatched=["w: only on the left"])
    port = contestant(MODERN, RESIDENT, None, verification=failed)
    return SpeedResult({RESIDENT: setup(Dyadic())}, [contestant(LEGACY, RESIDENT, None), port])
