"""Writes the source of a lift: `source_text` is the whole way from the plan to the program's text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple

import tensorflow as tf

from legacy.source.basics.divided_losses import with_divided_losses
from legacy.source.basics.initial import find_initializers, first_values, held_scalars, slot_starts
from legacy.source.basics.unwritten import Unwritten
from legacy.source.loss_proof import prove_losses, setting_values
from legacy.source.overrides.marking import with_custom_gradients
from legacy.source.overrides.recomputed import with_plain_gradients
from legacy.source.prepared import OldProgram, prepared
from legacy.source.reasons import reason_text, refusal, require_float32_losses, with_both
from legacy.source.saved_program import as_saved
from legacy.source.standalone import style as standalone_style
from legacy.source.standalone import update_style
from legacy.source.standalone.text import in_order
from legacy.source.step.averages import with_averages_of_statistics
from legacy.source.step.derivatives import with_derivatives
from legacy.source.step.imported_step import ImportedStep, WrittenLoss, keep_proven, recover_losses
from legacy.source.step.losses_of_weights import with_minimized_losses
from legacy.source.step.training_step import recover_step
from legacy.source.step.weight_order import clipped_weights, require_clipped_order
from legacy.source.styles import imported_style, step_style, workload_style
from legacy.source.styles.docstring import (
    default_note,
    docstring,
    docstring_of_losses,
    docstring_of_update,
    notes_on,
)
from legacy.source.styles.imported_style import losses_lines, with_equal_losses
from legacy.source.styles.model_text import model_lines
from legacy.source.tables import tables_note, tables_of, with_tables, write_tables
from legacy.source.update.data_terms import with_data_terms
from legacy.source.update.recovered import recover_updates
from workloads.support.files.json_file import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from legacy.saved.analysis.analyse import Analysis
    from workloads.lifted.graph import Graph
    from workloads.program import Arrays

#: Errors that a graph of a form that nobody foresaw may raise.
_SURPRISES = (LookupError, TypeError, ValueError, AttributeError, AssertionError, tf.errors.OpError)
#: {style: function that makes the text of a module}.
STYLES = {"workload": workload_style.module_text, "standalone": standalone_style.module_text}
#: The same, of a step whose update is written as the old graph computes it.
STEP_STYLES = {"workload": step_style.module_text, "standalone": update_style.module_text}


class Source(NamedTuple):
    """A program's text.

    Attributes:
      text: of the module.
      notes: lines for the console: what was kept as raw ops, or assumed.
      tables: {name: array} of the file beside it.
      differing: number of its losses, gradients and statistics that differ by rounding.
    """

    text: str
    notes: List[str]
    tables: Arrays = {}
    differing: int = 0


class SourceOptions(NamedTuple):
    """Choices of how a source is written.

    Attributes:
      settings: {scalar input: text of its value}.
      style: one of `STYLES`.
      folder: of the lift, relative to the source's, to import from it what cannot be written; "" if it has none.
      examples: each tower's batch of the program's own data; empty for made-up numbers.
    """

    settings: Mapping[str, str] = {}
    style: str = "workload"
    folder: str = ""
    examples: Sequence[Arrays] = ()


#: A workload without settings, proven on made-up numbers.
DEFAULTS = SourceOptions()


def source_text(program: OldProgram, options: SourceOptions = DEFAULTS) -> Source:
    """Writes the source of a program.

    Args:
      program: the program.
      options: how to write it.

    Returns:
      The source.

    Raises:
      InputError: a part of the program cannot be written, and not be imported either; the message names it.
    """
    return _source_of_prepared(prepared(program), options)


def _source_of_prepared(program: OldProgram, options: SourceOptions) -> Source:
    """Returns the source of a program that `prepared` gave; see `source_text`."""
    if options.style == "workload":
        require_float32_losses(program.plan)
    reason: Exception | None = None
    try:
        plan = with_minimized_losses(with_derivatives(program.plan, program.graph), program.graph)
        program = program._replace(plan=plan)
    except (Unwritten, *_SURPRISES) as error:
        reason = error
    found = _source_or_reason(program, options, reason)
    if isinstance(found, Source) and not found.differing:
        return found
    custom = program._replace(graph=with_custom_gradients(program.graph))
    if custom.graph is not program.graph:  # a custom gradient in another form than the usual one rounds differently
        own = _source_or_reason(custom, options, reason)
        if isinstance(found, Unwritten):
            found, program = own, custom
        elif isinstance(own, Source) and own.differing < found.differing:
            found = own
    plain = with_plain_gradients(program.graph) if isinstance(found, Unwritten) else program.graph
    if plain is not program.graph:
        program = program._replace(graph=plain)
        found = _source_or_reason(program, options, reason)
    return found if isinstance(found, Source) else _source_in_part(program, options, found)


def _source_or_reason(program: OldProgram, options: SourceOptions, reason: Exception | None) -> Source | Unwritten:
    """Returns the source of a whole step, or why it cannot be written; see `_source_in_code`."""
    try:
        return _source_in_code(program, options, reason)
    except Unwritten as error:
        return error


def _source_in_code(program: OldProgram, options: SourceOptions, reason: Exception | None) -> Source:
    """Returns the source of a whole step.

    Args:
      program: the program.
      options: how to write it.
      reason: why no named fields describe the step, if that is known.

    Returns:
      The source.

    Raises:
      Unwritten: the step cannot be written.
    """
    if reason is not None:
        return _source_with_update(program, options, reason)
    try:
        return _source_with_fields(program, options)
    except (Unwritten, *_SURPRISES) as error:
        return _source_with_update(program, options, error)


def _source_in_part(program: OldProgram, options: SourceOptions, reason: Unwritten) -> Source:
    """Returns the source of the losses, with the rest imported, in the style that has such imports."""
    if options.style == "standalone":
        hint = "--style=workload with --out may write the losses, and import the rest from its folder"
        raise refusal(program.plan.name, Unwritten(f"{reason}\n{hint}")) from reason
    return source_with_import(program, options, reason)


def _source_with_fields(program: OldProgram, options: SourceOptions) -> Source:
    """Returns the source of a step that named fields describe: optimizer, schedule, clipping, averages and so on.

    Args:
      program: the program.
      options: how to write it.

    Returns:
      The source.

    Raises:
      Unwritten: they do not.
    """
    plan, graph = with_divided_losses(program.plan, program.graph)
    whole, initial = program.whole, program.initial
    modelled = [v for v in plan.variables if v.role in ("weight", "statistic")]
    initializers, unknown = find_initializers(whole, modelled)
    held = held_scalars(plan, initial) if options.style == "workload" else {}  # a workload has no such variable
    step = recover_step(plan, graph, slot_starts(whole, plan, initial), initializers, held)
    values, assumed = setting_values(plan, step.model.settings, options.settings, options.examples)
    notes = [*notes_on(step.model, assumed), *([step.learning_rate.note] if step.learning_rate.note else [])]
    notes.extend(default_note(modelled, unknown))
    loss = WrittenLoss("tower_loss", plan.phases[0], step.model)
    proof = prove_losses(plan, graph, initial, [loss], model_lines(step.model), values, options.examples)
    require_clipped_order(step.clip, clipped_weights(plan, plan.phases[0]), proof.asked)
    notes.append(proof.sentence)
    text = STYLES[options.style](plan, step, docstring(plan, step, notes), values)
    text = in_order(text) if proof.in_any_order else text
    return _with_tables(Source(text, notes, differing=proof.differing), graph)


def _source_with_update(program: OldProgram, options: SourceOptions, reason: Exception) -> Source:
    """Returns the source of a step whose update is written as the old graph computes it.

    Args:
      program: the program.
      options: how to write it.
      reason: why no named fields describe the step.

    Returns:
      The source.

    Raises:
      Unwritten: the update cannot be written either; the message has both reasons.
    """
    plan, graph, whole, initial, _ = program
    initializers, unknown = find_initializers(whole, plan.variables)
    try:
        plan = with_averages_of_statistics(with_data_terms(plan, graph), graph)
        step = recover_updates(plan, graph, initializers, reason_text(reason).splitlines())
        step = step.with_losses(with_equal_losses(step.losses))
        losses = step.losses
        fed = {name: source for loss in losses for name, source in loss.model.settings.items()}
        values, assumed = setting_values(plan, fed, options.settings, options.examples)
        notes = [note for loss in losses for note in notes_on(loss.model, assumed)]
        lines = losses_lines(ImportedStep(losses, []))
        proof = prove_losses(plan, graph, initial, losses, lines, values, options.examples)
        notes.append(proof.sentence)
        notes = [*dict.fromkeys(notes), *default_note(plan.variables, unknown)]
        starts = first_values(plan.variables, initializers, initial)
        text = STEP_STYLES[options.style](plan, step, docstring_of_update(plan, step, notes), values, starts)
        text = in_order(text) if proof.in_any_order else text
        notes += [f"update as in the old graph: {why}" for why in step.reasons]
        return _with_tables(Source(text, notes, differing=proof.differing), graph)
    except (Unwritten, *_SURPRISES) as error:
        raise with_both(reason, error) from error


def source_with_import(program: OldProgram, options: SourceOptions, reason: Exception) -> Source:
    """Writes the source of the losses, with the rest of the step imported from the lift.

    Args:
      program: the program.
      options: how to write it.
      reason: why the rest is not written.

    Returns:
      The source.

    Raises:
      InputError: no loss can be written, or there is no folder.
    """
    plan, graph, _, initial, _ = program
    folder = options.folder
    try:
        step = recover_losses(plan, graph, reason_text(reason).splitlines())

        def prove(part: ImportedStep) -> str:
            lines = imported_style.losses_lines(part)
            return prove_losses(plan, graph, initial, part.losses, lines, {}, options.examples).sentence

        step = keep_proven(step, prove)
        notes, proof = [note for loss in step.losses for note in notes_on(loss.model, [])], prove(step)
    except (Unwritten, *_SURPRISES) as error:
        raise refusal(plan.name, with_both(reason, error)) from error
    if not folder:
        hint = "with --out, the losses are written, and the rest is imported from its folder"
        raise refusal(plan.name, Unwritten("\n".join([*step.reasons, hint])))
    written = ", ".join(loss.phase.train_op for loss in step.losses)
    notes = [*dict.fromkeys(notes), proof, f"imported from {folder}: all but the loss of {written}"]
    notes += [f"not written: {text}" for text in step.reasons]
    text = imported_style.module_text(step, docstring_of_losses(plan, step, proof, folder), folder)
    return _with_tables(Source(text, notes), graph)


def _with_tables(source: Source, graph: Graph) -> Source:
    """Returns a source with the tables that its text uses."""
    tables = tables_of(source.text, graph)
    return source._replace(text=with_tables(source.text), notes=[*source.notes, *tables_note(tables)], tables=tables)


def source_of_analysis(found: Analysis, initial: Dict[str, np.ndarray], options: SourceOptions = DEFAULTS) -> Source:
    """Returns the source of an analysed graph.

    Args:
      found: the analysis.
      initial: {variable: value to start from}.
      options: how to write it.

    Returns:
      The source; see `source_text`.
    """
    program = prepared(OldProgram(found.plan, found.cut.graph, found.whole, initial))
    made = _source_of_prepared(program, options)
    return made._replace(text=as_saved(made.text, program, found.start)) if options.style == "standalone" else made


def write_source(path: str, source: Source) -> None:
    """Writes a source to a file, all of it or nothing, and its tables to one beside it."""
    if source.tables:
        write_tables(path, source.tables)
    write_text(path, source.text, "--source")
