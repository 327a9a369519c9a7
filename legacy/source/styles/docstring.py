"""The docstring of a source: where it comes from, what was recognised, what was wrong in the old program."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Dict, List

from legacy.source.basics.divided_losses import is_divided_by_replicas
from legacy.source.basics.expressions import calls
from legacy.source.lines.line_breaks import WIDTH
from legacy.source.step.model import all_statements
from workloads.lifted.plan.race_sentences import race_sentences
from workloads.lifted.reduction_factors import sums_over_all_examples, sums_to_mean
from workloads.support.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.source.lines.statements import Statement
    from legacy.source.step.imported_step import ImportedStep
    from legacy.source.step.model import Model
    from legacy.source.step.training_step import TrainingStep
    from legacy.source.update.written import WrittenStep
    from workloads.lifted.plan import Plan, Race, Variable

#: Most hazards and the like that are listed, and names in one of them.
MOST_LISTED, MOST_NAMED = 8, 6
RAW = "tf.raw_ops."
#: Beginnings of sentences that are left out, since a line about races or the function of the loss shows the same.
_ELSEWHERE = ("race: ", "the towers are not equal: see above", "each tower changes ")


def notes_on(model: Model, assumed: Sequence[str]) -> List[str]:
    """Returns the notes about a model: raw ops, assumed values, sizes that are fixed."""
    notes = []
    raw = raw_ops(all_statements(model))
    if raw:
        notes.append("kept as raw ops: " + ", ".join(sorted(set(raw))))
    if assumed:
        notes.append("assumed values of scalars that were fed: " + ", ".join(assumed))
    if model.copied:
        notes.append("no batches of examples, so that each example has a copy: " + ", ".join(model.copied))
    fixed = [name for name, entry in model.inputs.items() if None in (entry.shape or [None, None])[1:]]
    if fixed:
        notes.append("sizes that the old graph left open are fixed by the shapes of the inputs: " + ", ".join(fixed))
    return notes


def default_note(variables: Sequence[Variable], unknown: Sequence[str]) -> List[str]:
    """Returns a note on the weights that a source draws from the default distribution, since theirs is not known."""
    weights = [variable.name for variable in variables if variable.role == "weight" and variable.name in unknown]
    return [f"initializers not recognised, the default stands: {listed(weights, MOST_LISTED)}"] if weights else []


def raw_ops(statements: Sequence[Statement]) -> List[str]:
    """Returns the types of the ops that statements have as raw ops, each as often as it stands there."""
    found = [part.function for statement in statements for part in calls(statement.expression)]
    return [function[len(RAW) :] for function in found if function.startswith(RAW)]


def docstring_of_losses(plan: Plan, step: ImportedStep, proof: str, folder: str) -> List[str]:
    """Returns the lines of the docstring of a module that imports its update.

    Args:
      plan: of the lift.
      step: the losses.
      proof: sentence on how they compare with the old graph.
      folder: of the lift.

    Returns:
      The lines.
    """
    lines = [f"{plan.name}: the losses of an old graph's training step, decompiled to TensorFlow 2.", ""]
    lines += [_origin(plan), proof[0].upper() + proof[1:] + ".", ""]
    lines.append(f"All that follows from loss and gradients is imported from the folder {folder!r}, since:")
    lines += ["  * " + text for text in step.reasons]
    lines += _hazards(plan)
    return [line for text in lines for line in _wrapped(text)]


def docstring_of_update(plan: Plan, step: WrittenStep, notes: Sequence[str]) -> List[str]:
    """Returns the lines of the docstring of a standalone module whose update is the old graph's own.

    Args:
      plan: of the lift.
      step: the training step.
      notes: what is to be said about it.

    Returns:
      The lines.
    """
    lines = [f"{plan.name}: the training step of an old graph, decompiled to TensorFlow 2.", "", _origin(plan)]
    lines.append("The update is written as the old graph computes it, since no named optimizer describes it:")
    lines += ["  * " + text for text in step.reasons]
    if not step.any_number:
        apart = any(loss.model.others for loss in step.losses)
        own = "each tower has a loss of its own" if apart else "each tower has a state of its own"
        if any(update.uses_turns for update in step.updates):
            own = "the update uses statistics as each tower leaves them"
        if step.fixed_changes:
            own = f"each tower changes {listed(step.fixed_changes, MOST_NAMED)}"
        elif plan.own_number:
            own = plan.own_number
        why = "the update uses the results of each tower" if step.gathers else own
        lines.append(f"For {counted(plan.towers, 'replica')} only: {why}.")
    lines += [note[0].upper() + note[1:] + "." for note in notes]
    return [line for text in [*lines, *_hazards(plan)] for line in _wrapped(text)]


def _origin(plan: Plan) -> str:
    about = plan.about
    origin = f"From {about.get('graph', 'a saved graph')}, written by TensorFlow {about.get('written by TensorFlow')}"
    return f"{origin}; {counted(plan.towers, 'tower')}, recognised by {plan.found_by}."


def docstring(plan: Plan, step: TrainingStep, notes: List[str]) -> List[str]:
    """Returns the lines of the module's docstring.

    Args:
      plan: of the lift.
      step: the training step.
      notes: what is to be said about it.

    Returns:
      The lines.
    """
    lines = [f"{plan.name}: the training step of an old graph, decompiled to TensorFlow 2.", "", _origin(plan)]
    clip = f"clipping {step.clip.how} of {step.clip.where} gradients" if step.clip else "no clipping"
    lines.append(f"Recognised: {step.rule.name}, {step.combine} of the towers' gradients, {clip}.")
    divisors = [
        *([plan.global_batch] if sums_over_all_examples(plan.phases[0], plan.towers) else []),
        *([plan.towers] if sums_to_mean(plan.phases[0], plan.towers) else []),
    ]
    if step.combine == "sum" and divisors and not is_divided_by_replicas(step.model.statements[-1].expression):
        lines.append(
            f"For {counted(plan.towers, 'replica')} only: the loss is divided by {divisors[0]}, gradients are summed."
        )
    elif plan.own_number and not plan.changed_in_turn:  # what towers change in turn, replicas do as well
        lines.append(f"For {counted(plan.towers, 'replica')} only: {plan.own_number}.")
    lines += [note[0].upper() + note[1:] + "." for note in notes] or ["Nothing was kept as raw ops."]
    return [line for text in [*lines, *_hazards(plan)] for line in _wrapped(text)]


def _hazards(plan: Plan) -> List[str]:
    """Returns the part of a docstring about races and hazards of the old program; nothing if it has none."""
    hazards = _races([race for phase in plan.phases for race in phase.races])
    hazards += [text for text in plan.about.get("watch", []) if not text.startswith(_ELSEWHERE)]
    if not hazards:
        return []
    lines = ["", "In the old program:", *("  * " + text for text in hazards[:MOST_LISTED])]
    if len(hazards) > MOST_LISTED:
        lines.append(f"  * and {len(hazards) - MOST_LISTED} more; see `python -m legacy.inspect`")
    return lines


def _races(races: Sequence[Race]) -> List[str]:
    """Returns lines about the races of a plan: one for all reads, and one for each pair of updates or for many.

    >>> from workloads.lifted.plan import Race
    >>> _races([Race("w", "update", "read", reader="read"), Race("v", "update", "read", reader="read")])
    ['reads of w, v have no order with the update; here they come after it']
    >>> _races([Race("w", "update", "read", reader="read"), Race("step", "read", "add", reader="read")])
    ['reads have no order with the update; here those of w come after it, those of step come before it']
    >>> _races([Race("w", "update", "read", reader="read"), Race("w", "gradient", "update", reader="gradient")])
    ['reads have no order with the update; here those of w come in part after it and in part before it']
    """
    variables: Dict[str, Dict[str, None]] = {}
    for race in races:
        if race.reader is not None:
            variables.setdefault(race.read_is, {})[race.variable] = None
    lines = []
    if len(variables) == 1:
        ((place, names),) = variables.items()
        lines.append(f"reads of {_few(list(names))} have no order with the update; here they come {place} it")
    elif variables:
        (place, names), (other, others) = variables.items()
        both = [name for name in names if name in others]
        clauses = [
            f"those of {_few(one)} come {where} it"
            for where, one in (
                (place, [name for name in names if name not in both]),
                (other, [name for name in others if name not in both]),
                (f"in part {place} it and in part {other}", both),
            )
            if one
        ]
        lines.append(f"reads have no order with the update; here {', '.join(clauses)}")
    return lines + list(race_sentences([race for race in races if race.reader is None]))


def _few(names: Sequence[str]) -> str:
    """Returns names as a list; the first of many, and the number of the others.

    >>> _few(["w", "v"]), _few(list("abcdefgh"))
    ('w, v', 'a, b, c and 5 more')
    """
    return listed(names, MOST_NAMED if len(names) <= MOST_NAMED else MOST_NAMED // 2)


def _wrapped(text: str) -> List[str]:
    """Returns a line of a docstring as lines that are not too long; those of a list are indented."""
    follow = "    " if text.startswith("  * ") else ""
    return textwrap.wrap(text, WIDTH, subsequent_indent=follow, break_long_words=False, break_on_hyphens=False) or [""]
