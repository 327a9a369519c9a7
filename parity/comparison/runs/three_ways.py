"""Comparison in three columns: a run recorded in its old environment, the old graph in this TensorFlow, and the port.

Where the original and the port differ, the middle column tells why: differences between the original and the old graph
here come from this TensorFlow, differences between the old graph here and the port come from the port.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence

from legacy.rerun.program import OldGraphProgram
from legacy.rerun.recorded_run import RecordedRun
from legacy.rerun.recorded_source import RecordedSource
from legacy.rerun.recording import RecordedSteps, as_recorded, require_same_settings
from legacy.saved.analysis.summation import longest_sum
from legacy.saved.graph import graph_file
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.runs.recorded_feeds import fed_tensors, feeds_text
from legacy.saved.runs.recording_folder import GRAPH
from modern.options import ALL_REDUCES
from parity.comparison import stages
from parity.comparison.judging import tolerance
from parity.comparison.references import References
from parity.comparison.result import Verification
from parity.comparison.runs import doubts
from parity.comparison.runs.lacking_ops import DIFFERENT_KERNELS, cause_of_difference
from parity.comparison.runs.options import Companions, Criterion, Observers
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Plan
from workloads.lifted.workload import as_lifted
from workloads.program import Program, RecordRewriter, State, StepRecord
from workloads.support.errors import require
from workloads.support.wording import counted

#: The comparisons, in the order of the columns.
COLUMNS = ("original / old graph here", "old graph here / port", "original / port")
ORIGINAL_AND_GRAPH, GRAPH_AND_PORT, ORIGINAL_AND_PORT = COLUMNS

#: Called with (column, steps done, `Verification` so far).
Progress = Callable[[str, int, Verification], None]


@dataclasses.dataclass
class ThreeWays:
    """The result: a `Verification` for each column, of which the last is judged.

    Attributes:
      columns: {column: `Verification`}.
      missing: lines about tensors that the recording does not hold.
      fed: sentence on tensors that the original fed, and the lift computes; "" if there are none.
      why: the original differs from the old graph here.
    """

    columns: dict[str, Verification]
    missing: list[str]
    fed: str = ""
    why: str = DIFFERENT_KERNELS

    @property
    def judged(self) -> Verification:
        """The comparison that the verdict rests on."""
        return self.columns[ORIGINAL_AND_PORT]

    @property
    def passed(self) -> bool:
        """Whether the port agrees with the original."""
        return self.judged.passed


def compare_three_ways(
    setup: Setup, folder: str, steps: int | None, tolerance_name: str = "auto", progress: Progress | None = None
) -> ThreeWays:
    """Compares a recording with the old graph here and with the port.

    Args:
      setup: of the lifted job; its source is replaced by the recorded batches.
      folder: the recording.
      steps: number of steps, or None for all that were recorded.
      tolerance_name: "auto" or "exact", for the comparisons with the original.
      progress: called after each step of each column, or None.

    Returns:
      The `ThreeWays`.

    Raises:
      InputError: the recording is damaged or of another program, or holds fewer steps.
    """
    workload = as_lifted(setup.job.workload)
    recorded = RecordedSteps(folder, workload.plan)
    require_same_settings(workload.plan, recorded)
    plan = as_recorded(workload.plan, recorded)
    job = dataclasses.replace(setup.job, workload=dataclasses.replace(workload, plan=plan))
    setup = dataclasses.replace(setup, job=job)
    steps = len(recorded) if steps is None else steps
    require(steps <= len(recorded), "--steps", steps, f"the recording holds {len(recorded)}")
    comparison = _Comparison(setup, plan, recorded, steps, tolerance_name)
    columns = {
        column: comparison.verify_column(column, None if progress is None else functools.partial(progress, column))
        for column in COLUMNS
    }
    judged = columns[ORIGINAL_AND_PORT]
    doubt = doubts.doubt_text(judged, plan, workload.graph)
    if columns[GRAPH_AND_PORT].has_identical_bits and doubt is not None:
        judged.passed = True
        judged.unproven.append(doubt)
    return ThreeWays(
        columns,
        _missing(plan, comparison.first_records),
        "" if judged.passed else _fed_text(folder, plan),
        cause_of_difference(columns[ORIGINAL_AND_GRAPH], plan),
    )


class _Comparison:
    """One recording and the programs that are compared with it.

    Attributes:
      first_records: the recording's first record of each train op; other programs' records are cut down to what these
        hold.
    """

    def __init__(self, setup: Setup, plan: Plan, recorded: RecordedSteps, steps: int, tolerance_name: str) -> None:
        self._setup = dataclasses.replace(setup, make_source=functools.partial(RecordedSource, steps=recorded))
        self._plan, self._recorded, self._steps, self._tolerance_name = plan, recorded, steps, tolerance_name
        self._units = units_of_original(plan, as_lifted(setup.job.workload).graph, recorded.about["tensorflow"])
        with self._original() as original:
            self._start: State = original.state()
            self.first_records: list[StepRecord] = [original.step() for _ in plan.phases]

    def verify_column(self, column: str, progress: Callable[[int, Verification], None] | None) -> Verification:
        """Compares the two programs of a column, both from the recorded initial state.

        Where the original differs by more than the base tolerances, the old graph's own noise is measured: its distance
        from float64, and its response to rounding of the weights.
        """
        found = self._verify(column, progress)
        if found.passed or column == GRAPH_AND_PORT or self._tolerance_name != "auto":
            return found
        return self._verify(column, progress, with_references=True)

    def _verify(
        self, column: str, progress: Callable[[int, Verification], None] | None, with_references: bool = False
    ) -> Verification:
        setup, with_original = self._setup, column != GRAPH_AND_PORT
        with contextlib.ExitStack() as stack:
            left = stack.enter_context(self._original() if with_original else setup.legacy_program())
            port = column != ORIGINAL_AND_GRAPH
            right = stack.enter_context(setup.modern_program() if port else setup.legacy_program())
            others: list[Program] = []
            if with_original:
                right = RecordSubset(right, self.first_records)
                others = [
                    RecordSubset(stack.enter_context(other), self.first_records) for other in self._other_orders()
                ]
            for program in (left, right, *others):
                program.load(self._start)
            of_original = Criterion("locked", self._tolerance_name, self._units)
            criterion = of_original if with_original else Criterion("free", self._tolerance_here())
            references = stack.enter_context(self._references()) if with_references else None
            companions, observers = Companions(references=references, alternatives=others), Observers(progress=progress)
            return verify(left, right, setup.job, self._steps, criterion, companions, observers)

    def _references(self) -> contextlib.closing[References]:
        """Makes the old graph in both precisions, with the records' part that the recording holds."""
        only_recorded = functools.partial(RecordSubset, like=self.first_records)
        return dataclasses.replace(self._setup, record_filter=only_recorded).closing_references(tolerance.KERNEL_ULPS)

    def _original(self) -> RecordedRun:
        return RecordedRun(self._setup.job, self._recorded)

    def _tolerance_here(self) -> str:
        """The tolerance between the old graph here and the port: "exact" where the port adds in the towers' order."""
        return "exact" if ALL_REDUCES[self._setup.modern.all_reduce].in_order else "auto"

    def _other_orders(self) -> Iterator[Program]:
        """Makes the old graph with each other order that its races allow."""
        setup, phases = self._setup, self._plan.phases
        for number in range(max(len(phase.other_control_dependencies) for phase in phases)):
            others = [phase.other_control_dependencies[number : number + 1] for phase in phases]
            dependencies = [other[0] if other else phase.control_dependencies for other, phase in zip(others, phases)]
            yield OldGraphProgram(setup.job, setup.make_source(setup.job), setup.legacy, setup.devices(), dependencies)


def units_of_original(plan: Plan, graph: Graph, tensorflow: str) -> dict[str, float]:
    """Returns {stage: float32 ulps} that the long sums of an original's kernels need beyond the base tolerances.

    Args:
      plan: of the lift that the original is compared with.
      graph: of the lift.
      tensorflow: version that the original ran in, such as "0.12.1".

    Returns:
      The units of losses, gradients and slots; empty for a TensorFlow that adds pairwise, or that is not known.
    """
    version = _version(tensorflow)
    if not version or version >= tolerance.PAIRWISE_SINCE:
        return {}
    imported = ImportedGraph(graph)
    losses = [name for phase in plan.phases for name in phase.losses]
    gradients = [name for phase in plan.phases for tower in phase.gradients for name in tower.values()]
    gradients += [entry.tensor for phase in plan.phases for entry in phase.combine]
    of_loss = tolerance.running_sum_units(longest_sum(graph, imported, losses, plan.batch))
    of_gradient = tolerance.running_sum_units(longest_sum(graph, imported, gradients, plan.batch))
    return {
        stages.LOSS: of_loss,
        stages.GRADIENTS: of_gradient,
        stages.COMBINED: of_gradient,
        stages.SLOTS: 2 * of_gradient,  # of squares
    }


def _version(text: str) -> tuple[int, ...]:
    """The first two numbers of a version; () where there are none."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


class RecordSubset(RecordRewriter):
    """Wraps a program and cuts its records down to the tensors that other records hold.

    Args:
      program: the program.
      like: one record for each train op that the program runs in turn.
    """

    def __init__(self, program: Program, like: Sequence[StepRecord]) -> None:
        super().__init__(program)
        self._like = like

    def rewrite(self, record: StepRecord) -> StepRecord:
        like = self._like[record.step % len(self._like)]
        gradients = [{n: g[n] for n in kept if n in g} for g, kept in zip(record.gradients, like.gradients)]
        combined = {name: record.combined[name] for name in like.combined}
        losses = record.losses if like.losses else []
        return dataclasses.replace(record, gradients=gradients, combined=combined, losses=losses)


def verdict(result: ThreeWays) -> str:
    """Returns the result in one sentence, and the reason if it is no parity."""
    original, here, port = (result.columns[column] for column in COLUMNS)
    if port.passed and port.unproven:
        return f"NOT SHOWN: the port has the old graph's bits, but not the original's: {'; '.join(port.unproven)}"
    if port.passed and port.not_shown:
        agree = counted(port.steps, "step agrees", "steps agree")
        return f"NOT SHOWN: {agree} with the original; but not exercised: {'; '.join(port.not_shown)}"
    if port.passed:
        agreement = "identical bits" if port.tolerance_name == "exact" else "within the auto tolerance"
        return f"PARITY with the original: {counted(port.steps, 'step')}, every stage {agreement}"
    if here.passed and not original.passed:
        cause = result.fed or result.why
        return f"NO PARITY with the original; but the port has the old graph's bits: {cause}"
    return "NO PARITY with the original" + ("" if here.passed else ", nor with the old graph here: the port differs")


def _fed_text(folder: str, plan: Plan) -> str:
    """Returns a sentence on tensors that the original fed in place of their own values; "" if the lift carries them."""
    path = os.path.join(folder, GRAPH)
    if not os.path.isfile(path):
        return ""
    known = {variable.name for variable in plan.variables}
    known |= {parse_tensor_name(name).node for entry in plan.inputs + plan.common for name in entry.tensors}
    fed = fed_tensors(graph_file.read_graph_file(path))
    return feeds_text([tensor for tensor in fed if parse_tensor_name(tensor.name).node not in known])


def _missing(plan: Plan, records: Sequence[StepRecord]) -> list[str]:
    """Lines about values that the recording does not hold."""
    missing = [f"numbers that {noise.name} draws inside a loop or a branch" for noise in plan.noise if noise.in_loop]
    for phase, record in zip(plan.phases, records):
        if phase.losses and not record.losses:
            missing.append(f"losses of {phase.train_op}")
        for tower, gradients in enumerate(phase.gradients):
            missing += [f"gradient of {n} on tower {tower}" for n in gradients if n not in record.gradients[tower]]
    return missing
