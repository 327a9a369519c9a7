"""Explanation of a difference: the causes that are recognized in two programs' steps, or in two recordings."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from typing import NamedTuple

from parity.causes import catalogue
from parity.causes.basics.cause import LOW, MEDIUM, RecognizedCause
from parity.causes.basics.confirmation import Remainder
from parity.causes.terms import WHOLE, in_legacys_terms, terms_alone, terms_beside_rounding
from parity.comparison.result import Verification
from parity.comparison.setup import Setup
from parity.confirmation.conclusions import without_injection
from parity.confirmation.confirm import confirm_causes
from parity.confirmation.injected_port import can_be_injected
from parity.confirmation.recorded_setup import setup_of_recordings
from parity.diagnosis import collect
from parity.diagnosis.context import job_context
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.localization.layers import find_diverging_layer
from parity.diagnosis.steps.comparable import comparable_record
from parity.layers.first_layer import FirstLayer
from parity.processes.interruption import interruptible
from parity.verdict.compare_programs import settings_of_programs
from parity.verdict.tapped_step import tapped_step
from workloads.records.reader import Recording


class Explanation(NamedTuple):
    """The recognized causes, and the measurements that they are recognized from.

    Attributes:
      recognized: the causes, the most likely first.
      evidence: the steps that show them.
      remaining: tensors that the causes do not explain when they are injected into a clean port; None where nothing
        could be injected.
      partial: ended before the causes were injected.
    """

    recognized: list[RecognizedCause]
    evidence: Evidence
    remaining: tuple[Remainder, ...] | None = None
    partial: bool = False

    @property
    def first_layer(self) -> FirstLayer | None:
        """The layer in which the passes diverge; None where a confirmed cause explains that, or none stands out."""
        confirmed = any(entry.confirmation is not None and entry.confirmation.confirmed for entry in self.recognized)
        return None if confirmed else find_diverging_layer(self.evidence)

    def terms_to_rewrite(self, failed: Verification) -> list[RecognizedCause]:
        """Returns the terms in which another framework's recording is to be compared again.

        Args:
          failed: the comparison in the recording's own terms, which this explains.

        Returns:
          the terms; empty where something else was recognized, or bits must be identical.
        """
        if failed.tolerance_name != "auto":
            return []
        terms = terms_alone(self.recognized)
        if failed.half_precision and not terms:
            return terms_beside_rounding(self.evidence, self.recognized)
        return terms

    def of_terms(self, terms: list[RecognizedCause]) -> Explanation:
        """Returns the explanation of a run that agrees once it is read in legacy's terms: these alone."""
        return self._replace(recognized=terms, remaining=None)

    def with_first_op(self, op: str) -> Explanation:
        """Returns the explanation with the op where the forward passes diverge, "Relu at port.py:57, in fc1".

        That op is surer than what gradients tell of a layer, so that FORWARD_PASS names it instead.
        """
        return self._replace(recognized=[_placed(entry, op) for entry in self.recognized])


def _placed(entry: RecognizedCause, op: str) -> RecognizedCause:
    """A cause in the forward pass, with the op that it begins at; any other as it is."""
    if entry.id != "FORWARD_PASS" or entry.finding.confidence != LOW:
        return entry
    finding = dataclasses.replace(
        entry.finding,
        sentence="From the same weights and batches the port computes another loss; the first op that differs is "
        f"{op}.",
        confidence=MEDIUM,
        because="that op has inputs that the old graph has, and a result that it does not have",
    )
    return dataclasses.replace(entry, finding=finding)


class StepCounts(NamedTuple):
    """Numbers of steps of a diagnosis: `free` along two trajectories, then `locked` from the left side's state."""

    free: int
    locked: int


def steps_to_explain(verification: Verification, recorded_steps: int | None = None) -> StepCounts:
    """Returns the steps to take again after a failed verification: a little past the first failure.

    Args:
      verification: the result that failed.
      recorded_steps: number of steps of the left side's recording, beyond which there are none; None for a program.
    """
    first = verification.first.step if verification.first and verification.failed_visit is None else 0
    free, locked = max(collect.FREE, first + 2), collect.LOCKED
    if recorded_steps is None:
        return StepCounts(free, locked)
    free = min(free, recorded_steps)
    return StepCounts(free, min(locked, recorded_steps - free))


def explain_failure(setup: Setup, recording: Recording | None, verification: Verification) -> Explanation:
    """Runs both sides again, from their first states or from the visit that failed, and recognizes the causes.

    Args:
      setup: the job and how both sides run it.
      recording: the left side, at its first step; None for towers that are built here.
      verification: the result that failed.

    Returns:
      the causes, confirmed by injecting them, and the evidence.
    """
    counts = steps_to_explain(verification, None if recording is None else recording.steps)
    with contextlib.ExitStack() as stack:
        left = stack.enter_context(setup.legacy_program() if recording is None else recording)
        right = stack.enter_context(setup.modern_program())
        about = settings_of_programs(left, right)._asdict()
        context = job_context.context_of_towers(setup.job, setup.stated, about)
        if verification.failed_visit is not None:
            for program in (left, right):
                program.load(verification.failed_visit.state)
        evidence = collect.collect_evidence(left, right, context, counts.free, counts.locked)
        evidence.retake_with_taps = None if recording is not None else tapped_step(setup)
        evidence.agreed_steps = verification.steps if verification.failed_visit is not None else 0
        recognized = catalogue.recognize_causes(evidence)
    return _confirmed(setup, evidence, recognized)


def explain_recorded_port(setup: Setup, recording: Recording) -> Explanation:
    """Recognizes the causes of the difference between the towers, which run here, and another framework's recording.

    Args:
      setup: the job, whose towers are the reference.
      recording: the port, at its first step.

    Returns:
      the causes, confirmed by injecting them, and the evidence.
    """
    with recording, setup.legacy_program() as towers:
        context = job_context.context_of_job(setup.job, settings_of_programs(towers, recording)._asdict())
        align = functools.partial(comparable_record, recording.path)
        steps = min(collect.FREE, recording.steps)
        evidence = collect.collect_evidence(towers, recording, context, steps, 0, align)
        evidence.least_eps = collect.CONSTANTS_EPS
        recognized = catalogue.recognize_causes(evidence)
    return _confirmed(setup, evidence, recognized)


def _by_criteria_alone(evidence: Evidence, recognized: list[RecognizedCause]) -> Explanation:
    """The explanation without any cause injected: by the criteria alone, in legacy's terms."""
    evidence, recognized = in_legacys_terms(evidence, recognized)
    return Explanation(without_injection(evidence, recognized), evidence)


def _confirmed(setup: Setup, evidence: Evidence, recognized: list[RecognizedCause]) -> Explanation:
    """The explanation after each cause was injected into a clean port; by the criteria alone where none can be.

    A port whose optimizer decays or clips (`WHOLE`) computes the same in other terms: there is no fault to inject.

    Args:
      setup: the job and how both sides run it.
      evidence: of both programs' steps.
      recognized: the causes that are recognized in it.
    """
    by_criteria = _by_criteria_alone(evidence, recognized)
    explained_by_terms = _has_whole_terms(by_criteria.recognized) and terms_alone(by_criteria.recognized)
    if not can_be_injected(setup) or explained_by_terms or _has_whole_terms(recognized):
        return by_criteria
    explained = confirm_causes(setup, evidence, recognized)
    return Explanation(explained.recognized, evidence, explained.remaining)


def _has_whole_terms(recognized: list[RecognizedCause]) -> bool:
    return any(entry.id in WHOLE for entry in recognized)


def explain_recordings(left: Recording, right: Recording, steps: int = 0, confirm: bool = False) -> Explanation:
    """Recognizes the causes of the difference between two open recordings; Ctrl-C skips their confirmation.

    Args:
      left: the reference.
      right: the run to explain.
      steps: number of steps to read; 0 for all that both hold.
      confirm: whether causes are injected into a clean port, where the recordings name a job that can be run here.

    Returns:
      the causes and the evidence.

    Raises:
      InputError: the recordings have no step, or no weight, in common.
    """
    evidence = collect.evidence_of_recordings(left, right, steps)
    recognized = catalogue.recognize_causes(evidence)
    setup = setup_of_recordings(left, right) if confirm else None
    if setup is None:
        return _by_criteria_alone(evidence, recognized)
    with interruptible() as interruption:
        interruption.keep_results(raises=True)
        try:
            return _confirmed(setup, evidence, recognized)
        except (Exception, KeyboardInterrupt):  # TensorFlow may make another exception of it
            if not interruption.asked:
                raise
            return _by_criteria_alone(evidence, recognized)._replace(partial=True)
