"""`python -m parity.diagnose --left=a.npz --right=b.npz`: names the causes of the difference between two recordings.

The recordings may come from anywhere (`legacy.record`, or `workloads/records/writer.py` in any training loop); the left
one is the reference. Causes are named from the numbers alone, each with the fitted figures, the fix, and the
confidence. Exit status 0: nothing differs but rounding, or in other terms only; 1: something does; 2: input that cannot
be used; 3: nothing differs that could be compared, but some weights, stages, or losses and gradients of some steps
could not be; 130: Ctrl-C, which while causes are confirmed ends with a partial report.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from parity import report_flags
from workloads.selection import name_flags, tap_flags
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.taps import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parity.causes.basics.cause import RecognizedCause
    from parity.causes.basics.confirmation import Remainder
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.stage_checks.deviation import Deviation
    from parity.layers.first_layer import FirstLayer
    from parity.verdict.explanation import Explanation
    from workloads.records.reader import Recording

flags.DEFINE_string("left", None, "The reference: a recording (.npz).")
flags.DEFINE_string("right", None, "The run to explain: a recording (.npz).")
flags.DEFINE_integer("steps", 0, "Number of steps to read; 0 for all that both recordings hold.", lower_bound=0)

flags.DEFINE_boolean(
    "confirm", True, "Inject the causes into a clean port to confirm them, where the recordings' job can be run here."
)
name_flags.define_names(flags.FLAGS)
report_flags.define_report(flags.FLAGS)
tap_flags.define_taps(flags.FLAGS)

FLAGS = flags.FLAGS

#: Exit status if nothing differs in what could be compared: weights are in one recording only, the inputs of stages are
#: not recorded, or steps were taken from weights that had diverged.
NOT_SHOWN = 3


def exit_status(
    differs: bool, recognized: Sequence[RecognizedCause], unexplained: Sequence[Deviation | Remainder] = ()
) -> int:
    """Returns the exit status of a diagnosis.

    Args:
      differs: whether any bit differs.
      recognized: the causes.
      unexplained: sentences on differences that no cause explains.

    Returns:
      1 if the runs differ by a bug or for an unknown reason; 0 if not at all, by rounding, or in other terms only.
    """
    unknown = not recognized or bool(unexplained)
    return 1 if differs and (unknown or any(entry.cause.bug for entry in recognized)) else 0


def main() -> int:
    """Runs the command; returns its exit status."""
    for name in ("left", "right"):
        require(FLAGS[name].value, "--" + name, FLAGS[name].value, "name a recording (.npz)")
    name_flags.check_names(FLAGS)
    report_flags.check_report(FLAGS)
    environment.prepare(exact=False)
    from parity.causes.unexplained import unexplained_deviations
    from parity.diagnosis.first_difference import first_differing_stage
    from parity.diagnosis.steps.comparable import uncompared_weights
    from parity.reports import causes
    from parity.verdict.explanation import explain_recordings
    from workloads.progress.progress import Progress
    from workloads.records.reader import Recording

    with Recording(FLAGS.left, "--left") as left, _right_recording(left) as right:
        _require_taps(left, "--left")
        _require_taps(right, "--right")
        unmatched = uncompared_weights(left.state(), right.state())
        Progress("diagnose").stage("reading the recordings, looking for causes")
        explanation = explain_recordings(left, right, FLAGS.steps, FLAGS.confirm)
        jobs_differ = list(causes.job_difference_lines(left.manifest, right.manifest))
    evidence = explanation.evidence
    differs = bool(evidence.converted) or first_differing_stage(evidence) is not None
    left_over: Sequence[Deviation | Remainder] | None = explanation.remaining
    if left_over is None:
        left_over = unexplained_deviations(explanation.evidence, explanation.recognized)
    status = exit_status(differs, explanation.recognized, left_over)
    notes = _notes(explanation, unmatched) + jobs_differ
    _report(explanation, differs, status, notes)
    if explanation.partial:
        raise KeyboardInterrupt
    left_out = unmatched or _unjudged_passes(explanation) or _unjudged_stages(explanation)
    return NOT_SHOWN if left_out and not status else status


def _require_taps(recording: Recording, flag: str) -> None:
    holds = not FLAGS.taps or recording.holds_taps
    require(holds, "--taps", ",".join(FLAGS.taps or ()), f"{flag} holds no activations; record it with --taps")


def _notes(explanation: Explanation, unmatched: Sequence[str]) -> list[str]:
    """Returns lines about values that were not compared, and checks that were not finished.

    Args:
      explanation: of the recordings.
      unmatched: lines about weights that only one recording has.
    """
    from workloads.support.wording import counted

    notes = [f"not compared: {line}" for line in unmatched]
    notes += ["interrupted before the causes were confirmed"] if explanation.partial else []
    passes, unjudged = _unjudged_passes(explanation), _unjudged_stages(explanation)
    if unjudged and explanation.recognized:  # else the report of an unknown cause says it
        notes.append(f"not judged, since their inputs are not recorded: {', '.join(unjudged)}")
    if passes:
        notes.append(
            f"not compared: losses and gradients of {counted(len(passes), 'step')} (the first: step {passes[0]}): the "
            "weights had diverged. Recordings in float64 diverge less"
        )
    return notes


def _unjudged_passes(explanation: Explanation) -> Sequence[int]:
    """Returns the steps whose losses and gradients could not be compared; none where a port explains the whole run."""
    return explanation.evidence.deviations.unjudged_passes if explanation.remaining is None else ()


def _unjudged_stages(explanation: Explanation) -> Sequence[str]:
    """Returns the stages that differ and could not be judged; none where a port explains the whole run."""
    return explanation.evidence.deviations.unjudged if explanation.remaining is None else ()


def _report(explanation: Explanation, differs: bool, status: int, notes: Sequence[str]) -> None:
    """Prints the causes and writes the reports that the flags ask for.

    Args:
      explanation: of the recordings.
      differs: whether any bit differs.
      status: exit status of the differences alone.
      notes: lines after the causes.
    """
    from parity.reports import causes
    from parity.reports.formatting import make_console, print_plain_lines

    layer = _first_layer(explanation.evidence) if status else None  # rounding begins in some layer, too
    lines = causes.cause_lines(explanation.recognized, explanation.evidence, differs, explanation.remaining)
    located = [] if layer is None else [layer.sentence()]
    print_plain_lines(make_console(), [*lines, *located, *notes])
    content = {**causes.causes_json(*explanation), "first_layer": None if layer is None else layer.to_json()}
    command.write_json(content)

    def html_page() -> str:
        from parity.html.diagnosis_page import diagnosis_page

        names = os.path.basename(FLAGS.left), os.path.basename(FLAGS.right)
        return diagnosis_page(names, not status, content, explanation.evidence.steps, list(notes))

    report_flags.write_report(html_page, FLAGS)


def _right_recording(left: Recording) -> Recording:
    """Opens the right recording, under the names that `--names` gives; writes that file if it does not exist."""
    from parity.diagnosis.context.renamed_recording import model_variables, open_renamed
    from workloads.records.reader import Recording

    if FLAGS.names is None:
        return Recording(FLAGS.right, "--right")
    return open_renamed(FLAGS.right, "--right", FLAGS.names, model_variables(left))


def _first_layer(evidence: Evidence) -> FirstLayer | None:
    """Returns the layer in which the difference begins, where both recordings hold activations."""
    from parity.diagnosis.localization.layers import first_layer_of_steps

    return None if FLAGS.taps == () else first_layer_of_steps(evidence.steps, FLAGS.taps or ALL)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
