"""Made-up causes and faults, for tests of trials."""

from __future__ import annotations

from typing import Any

from parity.causes.basics.cause import HIGH, Cause, Fault, Finding, RecognizedCause


def made_up_cause(name: str) -> Cause:
    """Returns a cause without a criterion that recognizes anything."""
    return Cause(name, "loss", "title", "signature", "why", "fix", lambda evidence: None)


def cause_and_fault(name: str, inject: Any, **fields: Any) -> tuple[Cause, Fault]:
    """Returns the cause NAME and its fault `name`."""
    return made_up_cause(name.upper()), Fault(name, inject, **fields)


def recognized_cause(name: str, confidence: str = HIGH) -> RecognizedCause:
    """Returns the result of a criterion that recognized a cause."""
    return RecognizedCause(made_up_cause(name), Finding(f"{name} it is.", confidence, "seen"))
