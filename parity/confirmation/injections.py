"""Injections: clean ports into which causes are injected, each compared with the user's run stage by stage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from parity.causes import catalogue
from parity.causes.basics.cause import RecognizedCause
from parity.causes.basics.confirmation import Confirmation
from parity.comparison import stages
from parity.comparison.judging import tolerance
from parity.confirmation.agreement import Agreement, add_initial, add_step, may_be_noise
from parity.confirmation.confined_port import Confined, ConfinedPort
from parity.confirmation.injected_port import InjectedPort, UserStep, chosen_steps
from parity.confirmation.rounding_units import Rules
from parity.diagnosis.evidence import Evidence
from workloads.program import State, StepRecord

if TYPE_CHECKING:
    from parity.causes.basics.injection import Change
    from parity.comparison.setup import Setup

#: Ports that are built at most: each is traced anew, which takes longer than its steps.
MOST_PORTS = 8

LEFT, RIGHT = "legacy", "port"


class InjectionResult(NamedTuple):
    """The comparison of one injected port with the user's run.

    Attributes:
      causes: that are injected.
      agreement: of the port's steps with the user's.
      records: the port's own steps, from the user's states.
      first_state: of the port.
      port_setup: the job of the port.
    """

    causes: tuple[RecognizedCause, ...]
    agreement: Agreement
    records: list[StepRecord]
    first_state: State
    port_setup: Setup

    @property
    def explains_all(self) -> bool:
        """Whether no tensor of any stage is left over."""
        return not self.agreement.remaining

    def confirmation(self) -> Confirmation:
        """Returns how far the causes explain the user's run."""
        agreement = self.agreement
        shown = tuple(stage for stage in stages.STAGES if stage in agreement.stages)
        injected = tuple(entry.id for entry in self.causes)
        return Confirmation(agreement.steps, shown, agreement.roundings, agreement.in_order(), injected)


class Injections:
    """Builds injected ports, each set of causes once, and compares them with the user's run.

    Args:
      setup: of the user's job.
      evidence: the steps of both sides.
      in_a_row: whether the steps that are compared follow each other, as causes need that remember earlier steps.
    """

    def __init__(self, setup: Setup, evidence: Evidence, in_a_row: bool) -> None:
        self._setup, self._evidence, self._in_a_row = setup, evidence, in_a_row
        self._ports = 0
        self._made: dict[tuple[str, ...], InjectionResult] = {}
        self._changes: dict[str, Change | None] = {}

    @property
    def may_go_on(self) -> bool:
        """Whether another port may be built."""
        return self._ports < MOST_PORTS

    def can_inject(self, entry: RecognizedCause) -> bool:
        """Returns whether a cause can be injected: its finding determines a change of the port."""
        return self._change_of(entry) is not None

    def inject(self, causes: Sequence[RecognizedCause]) -> InjectionResult | None:
        """Builds the port with some causes injected, and compares it; None if no more ports may be built."""
        ordered = tuple(sorted(causes, key=lambda entry: _place(entry.id)))
        key = tuple(map(finding_key, ordered))
        if key not in self._made:
            if not self.may_go_on:
                return None
            self._ports += 1
            of_legacy = any(entry.finding.constants.get("side") == LEFT for entry in ordered)
            self._made[key] = self._compare(ordered, LEFT if of_legacy else RIGHT)
        return self._made[key]

    def made_alone(self, entry: RecognizedCause) -> InjectionResult | None:
        """Returns the result of one cause alone; None if it was not injected alone."""
        return self._made.get((finding_key(entry),))

    def legacy_is_clean(self) -> bool:
        """Returns whether legacy's own steps are those of the clean port."""
        self._ports += 1
        return self._compare((), LEFT).explains_all

    def users_side(self, side: str) -> tuple[list[UserStep], State]:
        """Returns the steps that a side, `LEFT` or `RIGHT`, took from its own states, and its first state."""
        own = [step for step in self._evidence.steps if not step.locked] or self._evidence.steps
        if side == LEFT:
            steps, first = [UserStep(step.left_before, step.left) for step in own], self._evidence.left
        else:
            steps, first = [UserStep(step.right_before, step.right) for step in own], self._evidence.right
        return chosen_steps(steps, self._in_a_row), first

    def _change_of(self, entry: RecognizedCause) -> Change | None:
        key = finding_key(entry)
        if key not in self._changes:
            make = entry.cause.change
            self._changes[key] = None if make is None else make(entry.finding, self._setup)
        return self._changes[key]

    def _compare(self, causes: tuple[RecognizedCause, ...], side: str) -> InjectionResult:
        steps, first_state = self.users_side(side)
        with self._open_port(causes) as port:
            records = port.take_steps(steps, given=True)
            rules = self._rules(port)
            agreement = _agreement(port, records, steps, first_state, rules, _given_first_values(causes))
            if may_be_noise(agreement) and self._setup.job.dtype == "float32":
                with self._open_port(causes, "float64") as twin:
                    twins = twin.take_steps(steps, given=True)
                agreement = _agreement(port, records, steps, first_state, rules, _given_first_values(causes), twins)
            own = port.take_steps(steps, given=False) if agreement.remaining else records
            return InjectionResult(causes, agreement, own, port.first_state, port.setup)

    @contextlib.contextmanager
    def _open_port(
        self, causes: Sequence[RecognizedCause], dtype: str | None = None
    ) -> Iterator[InjectedPort | ConfinedPort]:
        """Makes the port with the causes injected, in the job's dtype or another, and closes it."""
        confined = [entry for entry in causes if entry.finding.confined]
        everywhere = [entry for entry in causes if not entry.finding.confined]
        with contextlib.ExitStack() as stack:

            def injected(entries: Sequence[RecognizedCause]) -> InjectedPort:
                changes = [change for change in map(self._change_of, entries) if change is not None]
                return stack.enter_context(InjectedPort(self._setup, changes, self._evidence.left, dtype))

            base = injected(everywhere)
            parts = [
                Confined(injected([*everywhere, entry]), entry.finding.variables, entry.finding.steps)
                for entry in confined
            ]
            yield ConfinedPort(base, parts) if parts else base

    def _rules(self, port: InjectedPort | ConfinedPort) -> Rules:
        workload = self._setup.job.workload
        units = tolerance.keras_units(workload.optimizer, self._setup.modern.update_rules)
        return Rules(port.setup.job.workload.optimizer, units.get(stages.WEIGHTS, 0.0))


def finding_key(entry: RecognizedCause) -> str:
    """Returns a text that identifies a cause with its fitted constants."""
    return repr((entry.id, entry.finding))


def _agreement(
    port: InjectedPort | ConfinedPort,
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
    """Variables that begin with the user's own values, as random numbers cannot be fitted."""
    return {
        name
        for entry in causes
        if entry.cause.stage == stages.INITIAL and entry.finding.constants.get("given")
        for name in entry.finding.variables
    }


def _place(cause_id: str) -> int:
    """Place of a cause in the catalogue: a later one is injected around the ones before it."""
    return next((place for place, cause in enumerate(catalogue.CAUSES) if cause.id == cause_id), 0)
