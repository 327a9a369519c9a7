"""Search for the causes that explain every stage of a run: plants the recognized ones, and diagnoses what remains."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes import catalogue
from parity.causes.basics.cause import RecognizedCause
from parity.causes.basics.confirmation import Confirmation, Remainder
from parity.comparison import stages
from parity.comparison.judging import tolerance
from parity.confirmation.agreement import Agreement, add_initial, add_step, improves, may_be_noise
from parity.confirmation.conclusions import (
    is_refuted,
    place_in_report,
    unconfirmed,
    unneeded,
    with_confirmation,
    without_planting,
)
from parity.confirmation.confined_port import Confined, ConfinedPort
from parity.confirmation.planted_port import PlantedPort, UserStep, can_be_planted, chosen_steps
from parity.confirmation.rounding_units import Rules
from parity.diagnosis.context import job_context
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import State, StepRecord

if TYPE_CHECKING:
    from parity.causes.basics.injection import Change
    from parity.comparison.setup import Setup

#: Ports that are built at most: each is traced anew, which takes longer than its steps.
MOST_PORTS = 8

LEFT, RIGHT = "legacy", "port"


class Explained(NamedTuple):
    """Causes with their confirmations, and what none of them explains.

    Attributes:
      recognized: the causes, the most likely first.
      remaining: tensors that the clean port with all confirmed and helpful causes planted does not explain; None where
        nothing could be planted.
    """

    recognized: list[RecognizedCause]
    remaining: tuple[Remainder, ...] | None


class _Planting(NamedTuple):
    """The comparison of one planted port with the user's run, and its steps from the user's states."""

    causes: tuple[RecognizedCause, ...]
    agreement: Agreement
    records: list[StepRecord]
    first_state: State
    port_setup: Setup

    @property
    def explains_all(self) -> bool:
        return not self.agreement.remaining


@np.errstate(all="ignore")  # a run may hold infinite numbers and NaN
def confirm_causes(setup: Setup, evidence: Evidence, recognized: Sequence[RecognizedCause]) -> Explained:
    """Plants the recognized causes into the clean port, and compares it with the user's run.

    Args:
      setup: the job and how both sides run it.
      evidence: the steps of legacy and of the user's port.
      recognized: the causes that the criteria recognize in them, the most likely first.

    Returns:
      the causes, each with what planting it showed and the confidence that follows; causes that were recognized only in
      what the first ones leave over are added.
    """
    if not can_be_planted(setup):
        return Explained(without_planting(evidence, recognized), None)
    return _Search(setup, evidence).run(recognized)


class _Search:
    """Plants causes, alone and together, until every stage is explained or nothing helps.

    Args:
      setup: of the user's job.
      evidence: the steps of both sides.
    """

    def __init__(self, setup: Setup, evidence: Evidence) -> None:
        self._setup, self._evidence = setup, evidence
        self._ports = 0
        self._in_a_row = False
        self._tried: dict[tuple[str, ...], _Planting] = {}
        self._changes: dict[str, Change | None] = {}

    def run(self, recognized: Sequence[RecognizedCause]) -> Explained:
        """Returns the causes that explain the run; see `confirm_causes`."""
        pool = list(recognized)
        self._in_a_row = any(entry.cause.remembers for entry in pool)
        best = self._plant_first_or_all(pool)
        if best is None:
            best = self._plant(())
            if best is not None and best.explains_all and not self._legacy_is_clean():
                return self._conclude(pool, None)
            if best is not None and not best.explains_all:
                pool = self._merge(self._next_causes(best), pool)
                best = self._plant_first_or_all(pool) or self._plant_onto(best, pool)
        while best is not None and not best.explains_all and self._ports < MOST_PORTS:
            fresh = [entry for entry in self._next_causes(best) if not any(_same_cause(entry, known) for known in pool)]
            if not fresh:
                break
            pool += fresh
            better = self._plant_onto(best, fresh)
            if better is best:
                break
            best = better
        return self._conclude(pool, best)

    def _plant_first_or_all(self, pool: Sequence[RecognizedCause]) -> _Planting | None:
        """Plants the first cause alone, then all together; returns the planting that explains everything, or None."""
        plantable = tuple(entry for entry in pool if self._change_of(entry) is not None)
        for causes in (plantable[:1], plantable):
            planted = self._plant(causes) if causes else None
            if planted is not None and planted.explains_all:
                return planted
        return None

    def _legacy_is_clean(self) -> bool:
        """Whether legacy's own steps are those of the clean port."""
        clean = self._compare((), LEFT)
        self._ports += 1
        return clean.explains_all

    def _merge(self, fresh: Sequence[RecognizedCause], pool: Sequence[RecognizedCause]) -> list[RecognizedCause]:
        """Returns all causes, each with its later fit: it is made in steps from the user's own states."""
        others = [entry for entry in pool if not any(_same_cause(entry, refitted) for refitted in fresh)]
        merged = [*fresh, *others]
        return sorted(merged, key=catalogue.order_of)

    def _plant_onto(self, best: _Planting, candidates: Sequence[RecognizedCause]) -> _Planting:
        """Adds the candidates that explain something, one after the other."""
        for entry in candidates:
            if self._change_of(entry) is None or best.explains_all:
                continue
            planted = self._plant((*best.causes, entry))
            if planted is not None and (planted.explains_all or improves(planted.agreement.gaps, best.agreement.gaps)):
                best = planted
        return best

    def _change_of(self, entry: RecognizedCause) -> Change | None:
        key = repr((entry.id, entry.finding))
        if key not in self._changes:
            plant = entry.cause.plant
            self._changes[key] = None if plant is None else plant(entry.finding, self._setup)
        return self._changes[key]

    def _plant(self, causes: tuple[RecognizedCause, ...]) -> _Planting | None:
        """Builds one planted port and compares it; None if no more may be built."""
        ordered = tuple(sorted(causes, key=lambda entry: _place(entry.id)))
        key = tuple(repr((entry.id, entry.finding)) for entry in ordered)
        if key not in self._tried:
            if self._ports >= MOST_PORTS:
                return None
            self._ports += 1
            of_legacy = any(entry.finding.constants.get("side") == LEFT for entry in ordered)
            self._tried[key] = self._compare(ordered, LEFT if of_legacy else RIGHT)
        return self._tried[key]

    def _compare(self, causes: tuple[RecognizedCause, ...], side: str) -> _Planting:
        steps, first_state = self._users_side(side)
        with self._open_port(causes) as port:
            records = port.take_steps(steps, given=True)
            rules = self._rules(port)
            agreement = _agreement(port, records, steps, first_state, rules, _given_first_values(causes))
            if may_be_noise(agreement) and self._setup.job.dtype == "float32":
                with self._open_port(causes, "float64") as twin:
                    twins = twin.take_steps(steps, given=True)
                agreement = _agreement(port, records, steps, first_state, rules, _given_first_values(causes), twins)
            own = port.take_steps(steps, given=False) if agreement.remaining else records
            return _Planting(causes, agreement, own, port.first_state, port.setup)

    @contextlib.contextmanager
    def _open_port(
        self, causes: Sequence[RecognizedCause], dtype: str | None = None
    ) -> Iterator[PlantedPort | ConfinedPort]:
        """Makes the port with the causes planted, in the job's dtype or another, and closes it."""
        confined = [entry for entry in causes if entry.finding.confined]
        everywhere = [entry for entry in causes if not entry.finding.confined]
        with contextlib.ExitStack() as stack:

            def planted(entries: Sequence[RecognizedCause]) -> PlantedPort:
                changes = [change for change in map(self._change_of, entries) if change is not None]
                return stack.enter_context(PlantedPort(self._setup, changes, self._evidence.left, dtype))

            base = planted(everywhere)
            parts = [
                Confined(planted([*everywhere, entry]), entry.finding.variables, entry.finding.steps)
                for entry in confined
            ]
            yield ConfinedPort(base, parts) if parts else base

    def _users_side(self, side: str) -> tuple[list[UserStep], State]:
        """The steps that the side to explain took from its own states, and its first state."""
        own = [step for step in self._evidence.steps if not step.locked] or self._evidence.steps
        if side == LEFT:
            steps, first = [UserStep(step.left_before, step.left) for step in own], self._evidence.left
        else:
            steps, first = [UserStep(step.right_before, step.right) for step in own], self._evidence.right
        return chosen_steps(steps, self._in_a_row), first

    def _rules(self, port: PlantedPort | ConfinedPort) -> Rules:
        workload = self._setup.job.workload
        units = tolerance.keras_units(workload.optimizer, self._setup.modern.update_rules)
        return Rules(port.setup.job.workload.optimizer, units.get(stages.WEIGHTS, 0.0))

    def _next_causes(self, best: _Planting) -> list[RecognizedCause]:
        """Causes that the criteria recognize in what the best planting leaves over, in steps from the user's states."""
        steps, first_state = self._users_side(RIGHT)
        rows = [
            ComparedStep(record, step.record, step.before, step.before) for record, step in zip(best.records, steps)
        ]
        remains_at_start = any(stage == stages.INITIAL for stage, _ in best.agreement.remaining)
        first = best.first_state if remains_at_start else first_state
        context = job_context.context_of_job(best.port_setup.job, self._evidence.context.about)
        rest = dataclasses.replace(self._evidence, context=context, left=first, right=first_state, steps=rows)
        rest.retake_last_step = None
        return catalogue.recognize_causes(rest)

    def _conclude(self, pool: Sequence[RecognizedCause], best: _Planting | None) -> Explained:
        """Gives every cause its confirmation and the confidence that follows from it."""
        if best is None:
            return Explained([unconfirmed(entry, None) for entry in pool], None)
        explaining = {repr((entry.id, entry.finding)) for entry in best.causes}
        confirmation = _confirmation(best)
        entries = []
        for entry in pool:
            if repr((entry.id, entry.finding)) in explaining:
                entries.append(with_confirmation(entry, confirmation))
            elif best.explains_all:
                entries.append(unneeded(entry, best.causes))
            else:
                alone = self._tried.get((repr((entry.id, entry.finding)),))
                entries.append(unconfirmed(entry, None if alone is None else _confirmation(alone)))
        kept = [entry for entry in entries if not is_refuted(entry)]
        return Explained(sorted(kept, key=place_in_report), confirmation.remaining)


def _agreement(
    port: PlantedPort | ConfinedPort,
    records: Sequence[StepRecord],
    steps: Sequence[UserStep],
    first_state: State,
    rules: Rules,
    given: set[str],
    twins: Sequence[StepRecord] = (),
) -> Agreement:
    """Compares a port's steps, and its first state, with the user's."""
    agreement = Agreement()
    add_initial(agreement, port.first_state, first_state, given)
    for index, (record, step) in enumerate(zip(records, steps)):
        add_step(agreement, record, step, rules, twins[index] if twins else None)
    return agreement


def _given_first_values(causes: Sequence[RecognizedCause]) -> set[str]:
    """Variables whose first values are the user's own: random numbers cannot be fitted."""
    return {
        name
        for entry in causes
        if entry.cause.stage == stages.INITIAL and entry.finding.constants.get("given")
        for name in entry.finding.variables
    }


def _confirmation(planting: _Planting) -> Confirmation:
    agreement = planting.agreement
    shown = tuple(stage for stage in stages.STAGES if stage in agreement.stages)
    planted = tuple(entry.id for entry in planting.causes)
    return Confirmation(agreement.steps, shown, agreement.roundings, agreement.in_order(), planted)


def _same_cause(one: RecognizedCause, other: RecognizedCause) -> bool:
    """Tells whether two findings are fits of one cause, and not of two constants or of two groups of variables."""
    if one.id != other.id or set(one.finding.constants) != set(other.finding.constants):
        return False
    variables = set(one.finding.variables), set(other.finding.variables)
    return not all(variables) or bool(variables[0] & variables[1])


def _place(cause_id: str) -> int:
    """Place of a cause in the catalogue: a later one is planted around the ones before it."""
    return next((place for place, cause in enumerate(catalogue.CAUSES) if cause.id == cause_id), 0)
