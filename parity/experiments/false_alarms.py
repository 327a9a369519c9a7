"""False alarms: runs without a fault, in which no difference and no cause may be reported.

The workload, the seed, the number of replicas, the dtype, the all-reduce and the batch differ from run to run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from modern.options import ALL_REDUCES
from workloads.program import Program, RecordRewriter, State, StepRecord
from workloads.selection import registry

if TYPE_CHECKING:
    from parity.comparison.result import Verification
    from parity.comparison.runs.options import Criterion
    from parity.comparison.setup import Setup
    from parity.diagnosis.context.job_context import Context
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload

#: Nets of `awkward_net`.
_AWKWARD = ("awkward_momentum", "awkward_adam", "awkward_rmsprop")

#: Workloads that take seconds; the others take ten times as long.
_QUICK = ("sigmoid_stack", "regression", "cifar_cnn", *_AWKWARD)

#: In turn; the slower workloads, and those added later, come less often.
WORKLOADS: tuple[str, ...] = _QUICK * 2 + ("stacked_lstm", "resnet18")
WORKLOADS += tuple(name for name in registry.NAMES if name not in WORKLOADS)

#: (replicas, dtype, all-reduce, batch in halves of the workload's own).
VARIANTS = tuple(itertools.product((2, 3, 4), ("float32", "float64"), ("tower_order", "auto", "one_device"), (1, 2)))

#: Distance in `VARIANTS` from one case to the next; shares no factor with their number, so that all are reached.
STRIDE = 5

#: Each case is compared in both.
MODES = ("free", "locked")


def workload_named(name: str) -> Workload:
    """Returns an awkward net, or a built-in workload at its small size."""
    if name not in _AWKWARD:
        return registry.get(name)
    from parity.experiments.awkward_net import AWKWARD  # TensorFlow, which the process that plans need not start

    return AWKWARD[name]


@dataclasses.dataclass(frozen=True)
class CleanCase:
    """A job without a fault.

    Attributes:
      workload: its name.
      seed: of the job.
      replicas: number of replicas.
      dtype: of the weights.
      all_reduce: see `ModernOptions`.
      half_batches: the global batch in halves of the workload's own, rounded up to a multiple of the replicas.
    """

    workload: str
    seed: int
    replicas: int
    dtype: str
    all_reduce: str
    half_batches: int

    @property
    def tolerance_name(self) -> str:
        """Identical bits are required where the port adds the replicas in the towers' order."""
        return "exact" if ALL_REDUCES[self.all_reduce].in_order else "auto"

    @property
    def global_batch(self) -> int:
        """Examples of all replicas in one step."""
        examples = workload_named(self.workload).global_batch * self.half_batches
        return -(-examples // (2 * self.replicas)) * self.replicas

    def setup(self) -> Setup:
        """Returns the setup of both sides."""
        from parity.comparison.setup import exact_setup
        from workloads.job import Job

        job = Job(workload_named(self.workload), self.replicas, self.global_batch, self.dtype, self.seed)
        return exact_setup(job, all_reduce=self.all_reduce)


class CleanRun(NamedTuple):
    """The result of one case in one mode.

    Attributes:
      case: the job.
      mode: "free" or "locked"; see `verify`.
      global_batch: examples of one step; kept here so that a reader of results needs no workload, nor TensorFlow.
      alarms: the verdict if it is not parity, and each cause that was named though there is none.
    """

    case: CleanCase
    mode: str
    global_batch: int
    alarms: list[str]

    def to_json(self) -> dict[str, Any]:
        """Returns the run for `--json`."""
        case = self.case
        return {
            "workload": case.workload,
            "seed": case.seed,
            "replicas": case.replicas,
            "dtype": case.dtype,
            "all_reduce": case.all_reduce,
            "batch": case.half_batches,
            "tolerance": case.tolerance_name,
            "mode": self.mode,
            "global_batch": self.global_batch,
            "flagged": self.alarms,
        }


def plan_clean_cases(runs: int, first_seed: int) -> list[CleanCase]:
    """Returns the cases of at least `runs` runs; each case is run in all `MODES` and has a seed of its own.

    Neighbours differ in everything, so that a few runs already vary every choice.
    """
    cases = []
    for number in range(-(-runs // len(MODES))):
        replicas, dtype, all_reduce, half_batches = VARIANTS[(number * STRIDE) % len(VARIANTS)]
        workload = WORKLOADS[number % len(WORKLOADS)]
        cases.append(CleanCase(workload, first_seed + number, replicas, dtype, all_reduce, half_batches))
    return cases


class RecordKeeper(RecordRewriter):
    """Wraps a program and keeps its records.

    Attributes:
      records: the records of the steps so far.
      before: the state that each step started from, and at the end the state of the next.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.records: list[StepRecord] = []
        self.before: list[State] = [program.state()]

    def load(self, state: State) -> None:
        super().load(state)
        self.before[-1] = state

    def rewrite(self, record: StepRecord) -> StepRecord:
        self.records.append(record)
        self.before.append(record.state)
        return record


def run_clean_case(case: CleanCase, steps: int) -> list[CleanRun]:
    """Runs a case in each mode, the second mode from the state that the first has reached.

    Args:
      case: the job.
      steps: number of steps in each mode.

    Returns:
      one run per mode; causes are recognized from the steps of both modes together, and reported in both.
    """
    from parity.causes import catalogue
    from parity.comparison.runs.options import Criterion
    from parity.diagnosis.context.job_context import context_of_job
    from parity.diagnosis.steps import replay
    from parity.reports.verification_text import verification_verdict

    setup, verdicts = case.setup(), {}
    with contextlib.ExitStack() as stack:
        with setup.legacy_program() as program:
            left = RecordKeeper(replay.replay_of_steps(program, len(MODES) * steps))
        right = RecordKeeper(stack.enter_context(setup.modern_program()))
        lockstep = stack.enter_context(setup.modern_program()) if case.tolerance_name == "auto" else None
        programs = _Programs(setup, left, right, lockstep)
        for mode in MODES:
            if mode == "locked":
                right.load(left.state())
            verification = programs.verify(Criterion(mode, case.tolerance_name), steps)
            verdicts[mode] = [] if verification.passed else [verification_verdict(verification)]
        evidence = evidence_of_keepers(left, right, context_of_job(setup.job), steps)
        recognized = catalogue.recognize_causes(evidence)
    named = [f"{entry.id}: {entry.finding.sentence}" for entry in recognized if entry.cause.bug]
    return [CleanRun(case, mode, setup.job.global_batch, verdicts[mode] + named) for mode in MODES]


class _Programs(NamedTuple):
    """The programs of a case; `lockstep` is the second copy of the port that identical bits do not need."""

    setup: Setup
    left: Program
    right: Program
    lockstep: Program | None

    def verify(self, criterion: Criterion, steps: int) -> Verification:
        """Compares the next steps of both sides."""
        from parity.comparison.runs.options import Companions, Observers
        from parity.comparison.runs.verification import verify
        from parity.verdict.rule_check import RuleCheck

        job, auto = self.setup.job, criterion.tolerance_name == "auto"
        with contextlib.ExitStack() as stack:
            references = stack.enter_context(self.setup.closing_references()) if auto else None
            companions = Companions(None if criterion.is_locked else self.lockstep, references)
            observers = Observers(rules=RuleCheck(job) if auto else None)
            return verify(self.left, self.right, job, steps, criterion, companions, observers)


def evidence_of_keepers(left: RecordKeeper, right: RecordKeeper, context: Context, free: int) -> Evidence:
    """Returns the evidence of all steps that both keepers recorded.

    Args:
      left: the towers' records.
      right: the port's records.
      context: choices of the job.
      free: number of steps along two trajectories; the steps after them started from the left side's state.

    Returns:
      the evidence.
    """
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep

    rows = zip(left.records, right.records, left.before, right.before)
    steps = [ComparedStep(*row, locked=number >= free) for number, row in enumerate(rows)]
    return Evidence(context, left.before[0], right.before[0], steps)
