"""Confidence of causes after the search: it follows from the result of injecting each cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parity.causes import catalogue
from parity.causes.basics.cause import HIGH, LOW, MEDIUM, RecognizedCause
from parity.causes.basics.confirmation import Confirmation
from parity.causes.unexplained import unexplained_deviations

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence


def place_in_report(entry: RecognizedCause) -> tuple[bool, tuple[bool, bool, int, int]]:
    """Returns the sort key of a report: confirmed causes first, each group in the catalogue's order."""
    confirmed = entry.confirmation is not None and entry.confirmation.confirmed
    return not confirmed, catalogue.order_of(entry)


def is_refuted(entry: RecognizedCause) -> bool:
    """Whether a cause says that rounding is all that differs, and the clean port shows that it is not."""
    says_rounding = entry.cause.last and not entry.cause.bug
    return says_rounding and (entry.confirmation is None or not entry.confirmation.confirmed)


def with_confirmation(entry: RecognizedCause, confirmation: Confirmation) -> RecognizedCause:
    """Returns an injected cause: of high confidence if the injection explains every stage and no other cause could."""
    if not confirmation.confirmed:
        return unconfirmed(entry, confirmation)
    confidence = MEDIUM if entry.finding.ambiguous else HIGH
    finding = dataclasses.replace(entry.finding, confidence=confidence)
    return dataclasses.replace(entry, finding=finding, confirmation=confirmation)


def unconfirmed(entry: RecognizedCause, confirmation: Confirmation | None) -> RecognizedCause:
    """Returns a cause that injection did not confirm, or that cannot be injected: of medium confidence at most."""
    confidence = MEDIUM if entry.finding.confidence == HIGH else entry.finding.confidence
    finding = dataclasses.replace(entry.finding, confidence=confidence)
    return dataclasses.replace(entry, finding=finding, confirmation=confirmation)


def unneeded(entry: RecognizedCause, injected: Sequence[RecognizedCause]) -> RecognizedCause:
    """Returns a cause without which `injected` explain every stage: a consequence of them, or another name for them."""
    names = ", ".join(other.id for other in injected) or "rounding"
    because = f"{entry.finding.because}; not needed: {names} alone explains every stage"
    finding = dataclasses.replace(entry.finding, confidence=LOW, because=because)
    return dataclasses.replace(entry, finding=finding)


def without_injection(evidence: Evidence, recognized: Sequence[RecognizedCause]) -> list[RecognizedCause]:
    """Returns causes where nothing can be injected: high confidence stands if all stages are explained to rounding.

    Args:
      evidence: the steps of both sides.
      recognized: the causes, with their criteria's own confidence.

    Returns:
      the causes in the same order.
    """
    if not unexplained_deviations(evidence, recognized):
        return list(recognized)
    return [unconfirmed(entry, None) for entry in recognized]
