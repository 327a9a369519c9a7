"""Search for the causes that explain every stage of a run: injects the recognized ones, and diagnoses the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes import catalogue
from parity.causes.basics.cause import RecognizedCause
from parity.causes.basics.confirmation import Remainder
from parity.comparison import stages
from parity.confirmation.agreement import improves
from parity.confirmation.conclusions import (
    is_refuted,
    place_in_report,
    unconfirmed,
    unneeded,
    with_confirmation,
    without_injection,
)
from parity.confirmation.injected_port import can_be_injected
from parity.confirmation.injections import RIGHT, InjectionResult, Injections, finding_key
from parity.diagnosis.context import job_context
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.steps.compared_step import ComparedStep

if TYPE_CHECKING:
    from parity.comparison.setup import Setup


class Explained(NamedTuple):
    """Causes with their confirmations, and the tensors that none of them explains.

    Attributes:
      recognized: the causes, the most likely first.
      remaining: tensors that the clean port with all confirmed and helpful causes injected does not explain; None where
        nothing could be injected.
    """

    recognized: list[RecognizedCause]
    remaining: tuple[Remainder, ...] | None


@np.errstate(all="ignore")  # a run may hold infinite numbers and NaN
def confirm_causes(setup: Setup, evidence: Evidence, recognized: Sequence[RecognizedCause]) -> Explained:
    """Injects the recognized causes into the clean port, and compares it with the user's run.

    Args:
      setup: the job and how both sides run it.
      evidence: the steps of legacy and of the user's port.
      recognized: the causes that the criteria recognize in them, the most likely first.

    Returns:
      the causes, each with the result of injecting it and the confidence that follows, and further causes that were
      recognized only in the differences that the first ones do not explain.
    """
    if not can_be_injected(setup):
        return Explained(without_injection(evidence, recognized), None)
    return _Search(setup, evidence, recognized).run()


class _Search:
    """Injects causes, alone and together, until every stage is explained or nothing helps.

    Args:
      setup: of the user's job.
      evidence: the steps of both sides.
      recognized: the causes to begin with.
    """

    def __init__(self, setup: Setup, evidence: Evidence, recognized: Sequence[RecognizedCause]) -> None:
        self._evidence, self._recognized = evidence, list(recognized)
        in_a_row = any(entry.cause.remembers for entry in recognized)
        self._injections = Injections(setup, evidence, in_a_row)

    def run(self) -> Explained:
        """Returns the causes that explain the run; see `confirm_causes`."""
        pool = self._recognized
        best = self._inject_first_or_all(pool)
        if best is None:
            best = self._injections.inject(())
            if best is not None and best.explains_all and not self._injections.legacy_is_clean():
                return self._conclude(pool, None)
            if best is not None and not best.explains_all:
                pool = self._merge(self._next_causes(best), pool)
                best = self._inject_first_or_all(pool) or self._inject_onto(best, pool)
        while best is not None and not best.explains_all and self._injections.may_go_on:
            fresh = [entry for entry in self._next_causes(best) if not any(_same_cause(entry, known) for known in pool)]
            if not fresh:
                break
            pool += fresh
            better = self._inject_onto(best, fresh)
            if better is best:
                break
            best = better
        return self._conclude(pool, best)

    def _inject_first_or_all(self, pool: Sequence[RecognizedCause]) -> InjectionResult | None:
        """Injects the first cause alone, then all together; returns the result that explains everything, or None."""
        injectable = tuple(entry for entry in pool if self._injections.can_inject(entry))
        for causes in (injectable[:1], injectable):
            result = self._injections.inject(causes) if causes else None
            if result is not None and result.explains_all:
                return result
        return None

    def _merge(self, fresh: Sequence[RecognizedCause], pool: Sequence[RecognizedCause]) -> list[RecognizedCause]:
        """Returns all causes, each with its later fit: it is made in steps from the user's own states."""
        others = [entry for entry in pool if not any(_same_cause(entry, refitted) for refitted in fresh)]
        merged = [*fresh, *others]
        return sorted(merged, key=catalogue.order_of)

    def _inject_onto(self, best: InjectionResult, candidates: Sequence[RecognizedCause]) -> InjectionResult:
        """Adds the candidates that explain something, one after the other."""
        for entry in candidates:
            if not self._injections.can_inject(entry) or best.explains_all:
                continue
            result = self._injections.inject((*best.causes, entry))
            if result is not None and (result.explains_all or improves(result.agreement.gaps, best.agreement.gaps)):
                best = result
        return best

    def _next_causes(self, best: InjectionResult) -> list[RecognizedCause]:
        """Causes that the criteria recognize in the rest of the best result, in steps from the user's states."""
        steps, first_state = self._injections.users_side(RIGHT)
        rows = [
            ComparedStep(record, step.record, step.before, step.before) for record, step in zip(best.records, steps)
        ]
        remains_at_start = any(stage == stages.INITIAL for stage, _ in best.agreement.remaining)
        first = best.first_state if remains_at_start else first_state
        context = job_context.context_of_job(best.port_setup.job, self._evidence.context.about)
        rest = dataclasses.replace(self._evidence, context=context, left=first, right=first_state, steps=rows)
        rest.retake_last_step = None
        return catalogue.recognize_causes(rest)

    def _conclude(self, pool: Sequence[RecognizedCause], best: InjectionResult | None) -> Explained:
        """Gives every cause its confirmation and the confidence that follows from it."""
        if best is None:
            return Explained([unconfirmed(entry, None) for entry in pool], None)
        explaining = set(map(finding_key, best.causes))
        confirmation = best.confirmation()
        entries = []
        for entry in pool:
            if finding_key(entry) in explaining:
                entries.append(with_confirmation(entry, confirmation))
            elif best.explains_all:
                entries.append(unneeded(entry, best.causes))
            else:
                alone = self._injections.made_alone(entry)
                entries.append(unconfirmed(entry, None if alone is None else alone.confirmation()))
        kept = [entry for entry in entries if not is_refuted(entry)]
        return Explained(sorted(kept, key=place_in_report), confirmation.remaining)


def _same_cause(one: RecognizedCause, other: RecognizedCause) -> bool:
    """Tells whether two findings are fits of one cause, and not of two constants or of two groups of variables."""
    if one.id != other.id or set(one.finding.constants) != set(other.finding.constants):
        return False
    variables = set(one.finding.variables), set(other.finding.variables)
    return not all(variables) or bool(variables[0] & variables[1])
