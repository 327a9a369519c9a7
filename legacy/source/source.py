"""Writes the source of a lift: `source_text` is the whole way from the plan to the program's text."""

from __future__ import annotations

import math
import os
import textwrap
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple

import tensorflow as tf

from legacy.source import imported_style, standalone_style, workload_style
from legacy.source.basics.expressions import calls
from legacy.source.basics.rendering import WIDTH
from legacy.source.basics.unwritten import Unwritten
from legacy.source.imported_step import ImportedStep, WrittenLoss, keep_proven, recover_losses
from legacy.source.initial import find_initializers
from legacy.source.model import InputNames
from legacy.source.proof import Tower, compare_tower
from legacy.source.training_step import recover_step
from workloads import initializers as _workload_initializers
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from legacy.saved.analysis.analyse import Analysis
    from legacy.source.lines.statements import Statement
    from legacy.source.model import Model
    from legacy.source.training_step import TrainingStep
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Input, Plan

#: Of hazards and the like, so many are listed.
MOST_LISTED = 8
#: Values of scalars that were fed, if none is given: by a part of their name.
USUAL = (("keep", 0.5), ("rate", 0.01), ("lr", 0.01))

#: Relative difference of a tower's results beyond which a source is wrong; rounding stays below it.
MOST_DIFFERENCE = 1e-3
#: Errors that a graph of a form that nobody foresaw may raise.
_SURPRISES = (KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError, tf.errors.OpError)
#: {style: function that makes the text of a module}.
STYLES = {"workload": workload_style.module_text, "standalone": standalone_style.module_text}
RAW = "tf.raw_ops."
#: Beginnings of hazards that the text shows in another way: as a line of `races`, or in the function of the loss.
_ELSEWHERE = ("race: ", "the towers are not equal: see above")


class Source(NamedTuple):
    """A program's text.

    Attributes:
      text: of the module.
      notes: lines for the console: what was kept as raw ops, or assumed.
    """

    text: str
    notes: List[str]


def source_text(
    plan: Plan,
    graph: Graph,
    whole: Graph,
    initial: Dict[str, np.ndarray],
    settings: Mapping[str, str] | None = None,
    style: str = "workload",
    folder: str = "",
) -> Source:
    """Writes the source of a lift.

    Args:
      plan: of the lift.
      graph: of the lift.
      whole: the whole graph, with its initializers.
      initial: {variable: value to start from}.
      settings: {scalar input: text of its value}.
      style: one of `STYLES`.
      folder: of the lift, relative to the source's, to import from it what cannot be written; "" if it has none.

    Returns:
      The source.

    Raises:
      InputError: a part of the program cannot be written, and not be imported either; the message names it.
    """
    modelled = [v for v in plan.variables if v.role in ("weight", "statistic")]
    initializers, unknown = find_initializers(whole, modelled)
    try:
        step = recover_step(plan, graph, initial, initializers)
        values, assumed = _setting_values(step.model.settings, settings or {})
        notes = _notes(step.model, assumed)
        read = [name for name in unknown if f'"{name}"' in "".join(map(str, step.model.statements))]
        if read:
            notes.append("initializers not recognised, the default stands: " + ", ".join(read[:MOST_LISTED]))
        loss = WrittenLoss("tower_loss", plan.phases[0], step.model)
        notes.append(_proof(plan, graph, initial, [loss], workload_style.model_lines(step.model), values))
        return Source(STYLES[style](plan, step, _docstring(plan, step, notes), values), notes)
    except (Unwritten, *_SURPRISES) as reason:
        if style != "workload":
            hint = "--style=workload with --out may write the losses, and import the rest from its folder"
            raise _refusal(plan, Unwritten("\n".join([*_reason(reason).splitlines(), hint]))) from reason
        return _source_with_import(plan, graph, initial, reason, folder)


def _source_with_import(
    plan: Plan, graph: Graph, initial: Dict[str, np.ndarray], reason: Exception, folder: str
) -> Source:
    """Returns the source of the losses, with the rest of the step imported from the lift."""
    try:
        step = recover_losses(plan, graph, _reason(reason).splitlines())

        def prove(part: ImportedStep) -> str:
            return _proof(plan, graph, initial, part.losses, imported_style.losses_lines(part), {})

        step = keep_proven(step, prove)
        notes, proof = [note for loss in step.losses for note in _notes(loss.model, [])], prove(step)
    except (Unwritten, *_SURPRISES) as error:
        raise _refusal(plan, error) from error
    if not folder:
        hint = "with --out, the losses are written, and the rest is imported from its folder"
        raise _refusal(plan, Unwritten("\n".join([*step.reasons, hint])))
    written = ", ".join(loss.phase.train_op for loss in step.losses)
    notes = [*dict.fromkeys(notes), proof, f"imported from {folder}: all but the loss of {written}"]
    notes += [f"not written: {text}" for text in step.reasons]
    return Source(imported_style.module_text(step, _docstring_of_losses(plan, step, proof, folder), folder), notes)


def _notes(model: Model, assumed: Sequence[str]) -> List[str]:
    """Returns the notes about a model: raw ops, assumed values, sizes that are fixed."""
    notes = []
    inside = [line for loop in model.recovery.loops.values() for line in loop.statements]
    raw = raw_ops([*model.statements, *inside])
    if raw:
        notes.append("kept as raw ops: " + ", ".join(sorted(set(raw))))
    if assumed:
        notes.append("assumed values of scalars that were fed: " + ", ".join(assumed))
    fixed = [name for name, entry in model.inputs.items() if None in (entry.shape or [None, None])[1:]]
    if fixed:
        notes.append("sizes that the old graph left open are fixed, as `inputs` says: " + ", ".join(fixed))
    return notes


def _refusal(plan: Plan, error: Exception) -> InputError:
    """Returns the error that says why a source is not written: in one line, or with a line for each part."""
    reasons = _reason(error).splitlines()
    if len(reasons) > 1:
        return InputError(f"--source: {plan.name} cannot be written:" + "".join("\n  " + text for text in reasons))
    return InputError(f"--source: {plan.name} cannot be written: {reasons[0]}")


def _reason(error: Exception) -> str:
    """Returns the reason why a source is not written; of an error that was not foreseen, its kind too."""
    if isinstance(error, Unwritten):
        return str(error)
    return f"the graph has a form that is not known here ({type(error).__name__}: {str(error).splitlines()[:1]})"


def _proof(
    plan: Plan,
    graph: Graph,
    initial: Dict[str, np.ndarray],
    losses: Sequence[WrittenLoss],
    functions: Sequence[str],
    settings: Mapping[str, Any],
) -> str:
    """Runs each tower and the written functions on made-up numbers; returns a sentence about the result.

    Raises:
      Unwritten: they differ by more than rounding does.
    """
    space: Dict[str, Any] = {
        "tf": tf,
        "initializers": _workload_initializers,
        **workload_style.NAMED_VALUES,
        **settings,
    }
    constants = [line for loss in losses for line in workload_style.constant_lines(loss.model, {})]
    exec("\n".join([*constants, *functions]), space)
    differing: Dict[str, float] = {}
    for function, phase, model in losses:
        fed = {entry.name: _switch(entry) for entry in model.inputs.values() if entry.kind == "setting"}
        fed.update((source, settings[constant]) for constant, source in model.settings.items())
        names = InputNames(model.inputs, model.settings, model.streams)
        for number in range(plan.towers):
            proposals = model.statistics.proposals[number]
            tower = Tower(plan, graph, initial, fed, proposals, number, phase, names)
            found = compare_tower(tower, space[function])
            where = f"tower {number}" + (f" in {phase.train_op}" if len(losses) > 1 else "")
            differing.update((f"{name} of {where}", found.largest) for name in found.differing)
    if max(differing.values(), default=0.0) > MOST_DIFFERENCE:
        names_of = ", ".join(list(differing)[:MOST_LISTED])
        if not any(name.startswith("loss of tower") for name in differing):
            raise Unwritten(f"loss: gradients of the old graph contain what the towers' losses do not: {names_of}")
        raise Unwritten(f"model: on made-up numbers it differs in {names_of}")
    if differing:
        return f"on made-up numbers, {len(differing)} tensors of loss, gradients and statistics differ by rounding"
    return "loss, gradients and statistics of each tower have the old graph's bits on made-up numbers"


def _switch(entry: Input) -> float:
    """Returns a value to prove a source with, of a scalar that stays in the batch."""
    return next((value for part, value in USUAL if part in entry.name.lower()), 1.0)


def source_of_analysis(
    found: Analysis,
    initial: Dict[str, np.ndarray],
    settings: Mapping[str, str],
    style: str = "workload",
    folder: str = "",
) -> Source:
    """Returns the source of an analysed graph.

    Args:
      found: the analysis.
      initial: {variable: value to start from}.
      settings: {scalar input: text of its value}.
      style: one of `STYLES`.
      folder: see `source_text`.

    Returns:
      The source; see `source_text`.
    """
    return source_text(found.plan, found.cut.graph, found.whole, initial, settings, style, folder)


def write_source(path: str, source: Source) -> None:
    """Writes a source to a file, all of it or nothing."""
    temporary = path + ".tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(source.text)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"--source: cannot write {path!r}: {error.strerror}") from error


def raw_ops(statements: Sequence[Statement]) -> List[str]:
    """Returns the types of the ops that statements have as raw ops, each as often as it stands there."""
    found = [part.function for statement in statements for part in calls(statement.expression)]
    return [function[len(RAW) :] for function in found if function.startswith(RAW)]


def _setting_values(names: Mapping[str, str], given: Mapping[str, str]) -> tuple[Dict[str, Any], List[str]]:
    """Returns {constant: value} of the scalars that were fed, and the names of those whose value is assumed."""
    values: Dict[str, Any] = {}
    assumed = []
    for constant, source in names.items():
        if source in given:
            values[constant] = float(given[source])
            continue
        values[constant] = next((value for part, value in USUAL if part in source.lower()), 1.0)
        assumed.append(f"{source}={values[constant]}")
    return values, assumed


def _docstring_of_losses(plan: Plan, step: ImportedStep, proof: str, folder: str) -> List[str]:
    """Returns the lines of the docstring of a module that imports its update."""
    lines = [f"{plan.name}: the losses of an old graph's training step, decompiled to TensorFlow 2.", ""]
    lines += [_origin(plan), proof[0].upper() + proof[1:] + ".", ""]
    lines.append(f"All that follows from loss and gradients is imported from the folder {folder!r}, since:")
    lines += ["  * " + text for text in step.reasons]
    lines += _hazards(plan)
    return [line for text in lines for line in _wrapped(text)]


def _origin(plan: Plan) -> str:
    about = plan.about
    origin = f"From {about.get('graph', 'a saved graph')}, written by TensorFlow {about.get('written by TensorFlow')}"
    return f"{origin}; {plan.towers} towers, told apart by {plan.found_by}."


def _docstring(plan: Plan, step: TrainingStep, notes: List[str]) -> List[str]:
    """Returns the lines of the module's docstring."""
    lines = [f"{plan.name}: the training step of an old graph, decompiled to TensorFlow 2.", "", _origin(plan)]
    clip = f"clipping {step.clip.how} of {step.clip.where} gradients" if step.clip else "no clipping"
    lines.append(f"Recognised: {step.rule.name}, {step.combine} of the towers' gradients, {clip}.")
    if step.combine == "sum" and plan.towers > 1 and math.isclose(plan.phases[0].loss_scale * plan.towers, 1.0):
        lines.append(f"For {plan.towers} replicas only: the loss is divided by {plan.towers}, gradients are summed.")
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


def _races(texts: Sequence[str]) -> List[str]:
    """Returns the races of a plan with one line for all variables whose race was settled in the same way.

    >>> race = "{}: read may use it before or after update; taken after"
    >>> _races([race.format("w"), race.format("v")])
    ['reads of w, v have no order with the update; here they come after it']
    """
    settled: Dict[str, Dict[str, None]] = {}
    others: List[str] = []
    for text in texts:
        name, found, rest = text.partition(": ")
        taken = rest.rpartition("; taken ")[2]
        if found and "may use it before or after" in rest and taken in ("before", "after"):
            settled.setdefault(taken, {})[name] = None
        else:
            others.append(text)
    grouped = [
        f"reads of {', '.join(names)} have no order with the update; here they come {taken} it"
        for taken, names in settled.items()
    ]
    return grouped + others


def _wrapped(text: str) -> List[str]:
    """Returns a line of a docstring as lines that are not too long; those of a list are indented."""
    follow = "    " if text.startswith("  * ") else ""
    return textwrap.wrap(text, WIDTH, subsequent_indent=follow, break_long_words=False, break_on_hyphens=False) or [""]
