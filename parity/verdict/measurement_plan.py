"""Choice of the measurement that accompanies a comparison: its mutants, its visits, and its detector."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import legacy.factory
from legacy.towers.graph_program import GraphProgram
from parity.comparison.setup import Setup
from parity.coverage.graph.mutants import MutatedTowers
from parity.coverage.graph.outside_constants import with_constants_outside
from parity.coverage.measuring import detector
from parity.coverage.measuring.detector import Detector
from parity.coverage.measuring.measurement import Measurement
from parity.coverage.mutant import Mutant
from parity.coverage.mutants import update_mutants
from parity.coverage.mutants.native_mutants import input_mutants, native_mutants
from parity.coverage.mutants.update_mutants import GradientLog
from parity.coverage.schedules import RateFunction, find_boundaries
from parity.coverage.visits.job_visits import ChooseVisits, visits_of_job, with_far_weights
from parity.coverage.visits.lifted_visits import visits_of_lift, with_equal_copies
from workloads.job import Job
from workloads.lifted.graph import Graph
from workloads.lifted.workload import KINDS, LiftedWorkload, as_lifted
from workloads.sources import Source
from workloads.variable_spec import VariableSpec


@dataclasses.dataclass(frozen=True)
class CoveragePlan:
    """Extent of a measurement.

    Attributes:
      tolerance_name: "exact" or "auto".
      in_double: under "auto", whether the mathematics is judged in float64.
      units: {stage: float32 ulps} that "auto" allows beyond the base.
      no_visits: the reason why the programs cannot start from other states, or "" where they can.
      whole: also change every constant of the towers' graph.
    """

    tolerance_name: str
    in_double: bool = True
    units: dict[str, float] = dataclasses.field(default_factory=dict)
    no_visits: str = ""
    whole: bool = False


@contextlib.contextmanager
def measurement(
    setup: Setup, specs: Sequence[VariableSpec], plan: CoveragePlan, note: Callable[[str], None] = lambda text: None
) -> Iterator[Measurement]:
    """Makes the measurement of a comparison's coverage.

    Args:
      setup: the job and how both sides run it.
      specs: the job's variables.
      plan: its extent.
      note: see `Measurement`.

    Yields:
      the measurement, to be handed to `verify` as its tour.
    """
    job = setup.job
    seen, dtype = _detector(setup, plan)
    source = setup.make_source(job)
    gradients = GradientLog()
    with contextlib.ExitStack() as stack:
        towers = (
            stack.enter_context(contextlib.closing(_towers(setup))) if job.workload.is_lifted or plan.whole else None
        )
        if job.workload.is_lifted:
            assert towers is not None  # made above
            mutants, choose = _of_lift(job, source, towers, gradients, plan)
        else:
            mutants, choose = _of_job(job, source, specs, gradients)
            mutants += towers.mutants(with_towers=True) if towers is not None else []
        if setup.has_written_port:
            choose = with_far_weights(choose, len(as_lifted(job.workload).plan.phases) if job.workload.is_lifted else 1)
        if job.workload.is_lifted:
            choose = with_equal_copies(choose, as_lifted(job.workload))
        yield Measurement(job, mutants, choose, gradients, seen, dtype, plan.no_visits, towers, note)


def _of_job(
    job: Job, source: Source, specs: Sequence[VariableSpec], gradients: GradientLog
) -> tuple[list[Mutant], ChooseVisits]:
    """Mutants and visits of a job whose workload names its choices."""
    rate = RateFunction(job.workload.learning_rate, job.global_batch)
    boundaries = find_boundaries(rate, job.workload.learning_rate)
    mutants = list(native_mutants(job, source, specs, rate, boundaries, gradients))
    return mutants, lambda last, coverage: visits_of_job(job, last, boundaries, source, coverage)


def _of_lift(
    job: Job, source: Source, towers: MutatedTowers, gradients: GradientLog, plan: CoveragePlan
) -> tuple[list[Mutant], ChooseVisits]:
    """Mutants and visits of a job whose choices are in a saved graph."""
    workload, numbers = as_lifted(job.workload), towers.index.counted_numbers()
    mutants = [*input_mutants(job, source), *_lifted_updates(workload, gradients), *towers.mutants(plan.whole)]
    find_small_gradients = towers.find_small_gradients if plan.whole else None
    is_exact = plan.tolerance_name == "exact"
    return mutants, lambda last, coverage: visits_of_lift(
        workload, numbers, last, coverage, find_small_gradients, is_exact
    )


def _towers(setup: Setup) -> MutatedTowers:
    """Towers of their own for changed constants; a queue could not be started anew for each."""
    options = dataclasses.replace(setup.legacy, input="feed")
    source, job = setup.make_source(setup.job), setup.job
    if job.workload.is_lifted:
        lift = as_lifted(job.workload)
        graph = Graph(with_constants_outside(lift.graph.graph_def))
        job = dataclasses.replace(job, workload=dataclasses.replace(lift, graph=graph))
    program = legacy.factory.legacy_program(job, source, options, setup.devices(), setup.replicated)
    assert isinstance(program, GraphProgram)  # both kinds of legacy programs are
    return MutatedTowers(program)


def _lifted_updates(workload: LiftedWorkload, gradients: GradientLog) -> Iterator[Mutant]:
    """Mutants of a lift's updates: each variable that an op changes, left as it is; slots follow the weights."""
    plan = workload.plan
    written = {name for phase in plan.phases for effect in phase.effects for name in effect.writes}
    names = [variable.name for variable in plan.variables if variable.role == "weight"]

    def reason(name: str) -> str:
        return gradients.why_still(name) if name in written else "no op of the train ops changes the variable"

    yield from update_mutants.left_out_mutants(names, reason)
    others = {v.name: KINDS[v.role] for v in plan.variables if v.role not in ("weight", "slot") and v.name in written}
    yield from update_mutants.left_out_changes(others)


def _detector(setup: Setup, plan: CoveragePlan) -> tuple[Detector, str]:
    """Returns the `Detector` of the comparison, and the dtype in which tensors are judged."""
    job = setup.job
    if plan.tolerance_name == "exact":
        return detector.detects_any_bit, job.dtype
    if job.dtype == "float64" or plan.in_double:
        eps = float(np.finfo(np.float32).eps)
        return detector.detector_in_float64({stage: count * eps for stage, count in plan.units.items()}), "float64"
    return detector.detector_beyond_tolerance(job.dtype, job.replicas), "float64"
