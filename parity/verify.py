"""`python -m parity.verify --workload=resnet18 --replicas=4 --steps=100`: compares a port with its towers.

Runs the towers and their tf.distribute port side by side and compares every tensor of every step: batches, losses,
gradients, combined gradients, learning rate, weights, slots, statistics, averages. If one differs, names the causes.
With --workload=port.py:PORT --against=lifted/ the towers are the old graph that legacy.lift read, run in a session.
The first steps do not exercise every choice of a job: both sides also take single steps from other states, such as at a
boundary of the schedule or where clipping acts. And every choice is changed, one at a time, to measure whether the
comparison would have detected it.
Exit status 0: parity; 1: no parity; 2: input that cannot be used; 3: not shown: all agrees, but something that matters
was not exercised; 130: Ctrl-C, which after the first step ends the comparison with a partial report.
"""

from __future__ import annotations

import dataclasses
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from absl import flags

from parity import against_flags, report_flags, verify_flags
from parity import flags as parity_flags
from parity.processes.interruption import interruptible
from workloads.progress.progress import Progress
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parity.against.against_setup import OldGraph
    from parity.against.forward_difference import ForwardDifference
    from parity.causes.basics.cause import RecognizedCause
    from parity.comparison.result import Verdict, Verification
    from parity.comparison.setup import Setup
    from parity.processes.interruption import Interruption
    from parity.verdict.compare_programs import Comparison
    from parity.verdict.explanation import Explanation
    from parity.verdict.recorded_part import RecordedPart
    from workloads.data.batches import Batches
    from workloads.records.reader import Recording

verify_flags.define_comparison(flags.FLAGS)

FLAGS = flags.FLAGS


def main() -> int:
    """Runs the command; returns its exit status."""
    verify_flags.check_comparison(FLAGS)
    environment.prepare(exact=True)
    if FLAGS.against and not against_flags.names_the_same_lift():
        against = against_flags.setup_from_flags(exact=True)
        return _verify_programs(against.setup, against.old, against.notes).exit_status
    setup = parity_flags.setup_from_flags(exact=True)
    if setup.job.workload.is_lifted and FLAGS.recording and not FLAGS.recording.endswith(".npz"):
        require(FLAGS.report is None, "--report", FLAGS.report, "not with the recording of a lift's original run")
        return _verify_recorded_run(setup).exit_status
    return _verify_programs(dataclasses.replace(setup, replicated=True)).exit_status


def _verify_recorded_run(setup: Setup) -> Verdict:
    """Compares a lift with the recording of its original run, reports the result and returns the verdict."""
    from parity.reports.formatting import make_console
    from parity.verdict import recorded_run

    steps = FLAGS.steps if FLAGS["steps"].present else None
    result = recorded_run.verify_recorded_run(setup, FLAGS.recording, steps, verify_flags.tolerance_name(FLAGS))
    recorded_run.print_recorded_run(make_console(), result)
    command.write_json(recorded_run.recorded_run_json(setup, result))
    return result.judged.verdict


class ExplainedComparison(NamedTuple):
    """A comparison of towers and port, and the causes that explain its differences.

    Attributes:
      comparison: the result.
      recording: of the towers; None if they ran here.
      part: the part of the job that another framework's recording holds; None otherwise.
      explanation: the causes of a failure; None where there is nothing to explain.
      in_terms: whether the recording was compared again, in the workload's terms, and `comparison` is that one.
    """

    comparison: Comparison
    recording: Recording | None
    part: RecordedPart | None
    explanation: Explanation | None = None
    in_terms: bool = False


def _verify_programs(setup: Setup, old: OldGraph | None = None, notes: Sequence[str] = ()) -> Verdict:
    """Compares towers and port, explains a failure, reports the result and returns the verdict.

    Args:
      setup: the job.
      old: the old graph that a workload is compared with; None for towers that are built from it.
      notes: sentences on what the comparison assumes, and leaves out.

    Returns:
      the verdict.
    """
    with tempfile.TemporaryDirectory() as folder, interruptible() as interruption:
        explained = _compare_and_explain(setup, folder, interruption)
    verification = explained.comparison.verification
    difference = _forward_difference(setup, old, verification)
    if difference is not None and difference.where and explained.explanation is not None:
        explained = explained._replace(explanation=explained.explanation.with_first_op(difference.where))
    _report(setup, explained, difference, notes)
    if verification.partial:
        raise KeyboardInterrupt
    return verification.verdict


def _compare_and_explain(setup: Setup, folder: str, interruption: Interruption) -> ExplainedComparison:
    """Compares towers and port, and looks for the causes where they differ.

    Args:
      setup: the job.
      folder: for a recording that is made here.
      interruption: ends the comparison early.

    Returns:
      the result; of another framework's recording in the workload's terms, where it differs in its terms alone.
    """
    from parity.verdict.compare_programs import compare_programs

    examples = verify_flags.examples_of_metrics(FLAGS, setup)
    recording = verify_flags.recording_from_flags(FLAGS, setup, folder)
    part = _recorded_part(setup, folder)
    compared = setup if part is None else dataclasses.replace(setup, record_filter=part.filter_records)
    comparison = compare_programs(compared, recording, verify_flags.plan_from_flags(FLAGS), interruption, examples)
    interruption.close()
    verification = comparison.verification
    if not _is_explicable(setup, verification):
        return ExplainedComparison(comparison, recording, part)
    explanation = _explain(setup, verify_flags.recording_from_flags(FLAGS, setup, folder), verification)
    verification.first_layer = verification.first_layer or explanation.first_layer
    terms = explanation.terms_to_rewrite(verification) if part is not None else []
    if terms:
        comparison = _compare_in_terms(compared, folder, terms, examples)
        explanation = explanation.of_terms(terms) if comparison.verification.passed else explanation
    return ExplainedComparison(comparison, recording, part, explanation, bool(terms))


def _is_explicable(setup: Setup, result: Verification) -> bool:
    """Whether a comparison failed in a way that causes are known for."""
    from parity.comparison.stages import METRICS

    only_metrics = result.first is not None and result.first.stage == METRICS
    complete = not result.partial and not result.mismatched
    return not result.passed and complete and not only_metrics and setup.job.staleness is None


def _report(
    setup: Setup, explained: ExplainedComparison, difference: ForwardDifference | None, notes: Sequence[str]
) -> None:
    """Prints the result, and writes `--json` and `--report`.

    Args:
      setup: the job.
      explained: the result.
      difference: the first op of a workload's loss that the old graph does not have; None where that is not known.
      notes: see `_verify_programs`.
    """
    from parity.comparison.stages import STAGES
    from parity.reports.formatting import make_console, print_plain_lines
    from parity.verdict import report

    comparison, recording, part, explanation, in_terms = explained
    terminal = make_console()
    left_out = [stage for stage in STAGES if part is not None and stage in part.left_out]
    print_plain_lines(terminal, [*notes, *([] if difference is None else [difference.sentence()])])
    if part is not None:
        rewritten = ", rewritten in the workload's terms" if in_terms else ""
        print_plain_lines(terminal, [f"in the tables legacy is the recording{rewritten}; in the causes it is the port"])
    print_plain_lines(terminal, [f"not compared, as the recording does not hold it: {stage}" for stage in left_out])
    report.print_verification(terminal, setup, comparison, explanation)
    content = report.verification_json(setup, comparison, recording, explanation)
    content.update(not_recorded=left_out, notes=list(notes))
    command.write_json({**content, "forward_difference": None if difference is None else difference.to_json()})
    report_flags.write_report(lambda: report.verification_html(setup, comparison, content), FLAGS)


def _explain(setup: Setup, recording: Recording | None, result: Verification) -> Explanation:
    """Returns the causes of a failure; another framework's recording is explained as the port that it is."""
    from parity.verdict import explanation  # with all causes: where there are any

    Progress("verify " + setup.job.workload.name).stage("looking for the cause")
    if FLAGS.names is not None and recording is not None:
        return explanation.explain_recorded_port(setup, recording)
    return explanation.explain_failure(setup, recording, result)


def _compare_in_terms(setup: Setup, folder: str, terms: list[RecognizedCause], examples: Batches | None) -> Comparison:
    """Compares another framework's recording again, in the workload's terms.

    Args:
      setup: the job, with the part of it that the recording holds.
      folder: for a recording that is made here.
      terms: that the recording is in.
      examples: to evaluate the metrics on; or None.

    Returns:
      the comparison.
    """
    from parity.causes.terms import RecordingInTerms
    from parity.verdict.compare_programs import compare_programs

    recording = verify_flags.recording_from_flags(FLAGS, setup, folder)
    assert recording is not None  # `check_comparison` has seen --recording
    in_terms = RecordingInTerms(recording, terms, setup.job.workload.optimizer)
    return compare_programs(setup, in_terms, verify_flags.plan_from_flags(FLAGS), examples=examples)


def _recorded_part(setup: Setup, folder: str) -> RecordedPart | None:
    """Returns the part of the job that another framework's recording holds; None for a recording of this project's."""
    from parity.verdict.recorded_part import RecordedPart

    if FLAGS.names is None:
        return None
    recording = verify_flags.recording_from_flags(FLAGS, setup, folder)
    assert recording is not None  # `check_comparison` has seen --recording
    with recording:
        return RecordedPart.of(recording)


def _forward_difference(setup: Setup, old: OldGraph | None, result: Verification) -> ForwardDifference | None:
    """Returns the first op of a workload's loss that an old graph does not have, if the losses differ."""
    if old is None or result.passed or result.mismatched:
        return None
    from parity.against.loss_explanation import explain_loss

    return explain_loss(setup, old, result)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
