"""Writes the source of a lift: `source_text` is the whole way from the plan to the program's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, NamedTuple

import tensorflow as tf

from legacy.source.basics.inner_targets import with_inner_targets
from legacy.source.basics.unwritten import Unwritten
from legacy.source.loss_proof import prove_losses, setting_values
from legacy.source.standalone import style as standalone_style
from legacy.source.standalone import update_style
from legacy.source.standalone.text import in_order
from legacy.source.step.derivatives import with_derivatives
from legacy.source.step.imported_step import ImportedStep, WrittenLoss, keep_proven, recover_losses
from legacy.source.step.initial import find_initializers, first_values, held_scalars
from legacy.source.step.losses_of_weights import with_minimized_losses
from legacy.source.step.towers import tensors_of_towers
from legacy.source.step.training_step import recover_step
from legacy.source.step.weight_order import clipped_weights, require_clipped_order
from legacy.source.styles import imported_style, step_style, workload_style
from legacy.source.styles.docstring import MOST_LISTED, docstring, docstring_of_losses, docstring_of_update, notes_on
from legacy.source.styles.imported_style import losses_lines, with_equal_losses
from legacy.source.styles.model_text import model_lines
from legacy.source.update.recovered import recover_updates
from workloads.support.errors import InputError
from workloads.support.files.json_file import write_text
from workloads.support.user.user_code import error_line
from workloads.support.wording import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from legacy.saved.analysis.analyse import Analysis
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan, Variable
    from workloads.program import Arrays

#: Errors that a graph of a form that nobody foresaw may raise.
_SURPRISES = (LookupError, TypeError, ValueError, AttributeError, AssertionError, tf.errors.OpError)
#: What TensorFlow says of an op whose gradient a package outside of it has registered.
_NO_GRADIENT = re.compile(r"No gradient defined for operation.*\(op type: (\w+)\)")
#: {style: function that makes the text of a module}.
STYLES = {"workload": workload_style.module_text, "standalone": standalone_style.module_text}
#: The same, of a step whose update is written as the old graph computes it.
STEP_STYLES = {"workload": step_style.module_text, "standalone": update_style.module_text}


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
    examples: Sequence[Arrays] = (),
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
      examples: each tower's batch of the program's own data; empty for made-up numbers.

    Returns:
      The source.

    Raises:
      InputError: a part of the program cannot be written, and not be imported either; the message names it.
    """
    graph = with_inner_targets(graph, whole, tensors_of_towers(plan))
    modelled = [v for v in plan.variables if v.role in ("weight", "statistic")]
    initializers, unknown = find_initializers(whole, modelled)
    try:
        plan = with_minimized_losses(with_derivatives(plan, graph), graph)
        held = held_scalars(plan, initial) if style == "workload" else {}  # a workload has no such variable
        step = recover_step(plan, graph, initial, initializers, held)
        values, assumed = setting_values(plan, step.model.settings, settings or {})
        notes = [*notes_on(step.model, assumed), *([step.learning_rate.note] if step.learning_rate.note else [])]
        notes.extend(_default_note(modelled, unknown))
        loss = WrittenLoss("tower_loss", plan.phases[0], step.model)
        proof = prove_losses(plan, graph, initial, [loss], model_lines(step.model), values, examples)
        require_clipped_order(step.clip, clipped_weights(plan, plan.phases[0]), proof.asked)
        notes.append(proof.sentence)
        text = STYLES[style](plan, step, docstring(plan, step, notes), values)
        return Source(in_order(text) if proof.in_any_order else text, notes)
    except (Unwritten, *_SURPRISES) as reason:
        try:
            return _source_with_update(plan, graph, whole, initial, reason, settings or {}, style, examples)
        except Unwritten as second:
            if style == "standalone":
                hint = "--style=workload with --out may write the losses, and import the rest from its folder"
                raise _refusal(plan, Unwritten(f"{second}\n{hint}")) from second
            return source_with_import(plan, graph, initial, second, folder, examples)


def _source_with_update(
    plan: Plan,
    graph: Graph,
    whole: Graph,
    initial: Dict[str, np.ndarray],
    reason: Exception,
    settings: Mapping[str, str],
    style: str,
    examples: Sequence[Arrays],
) -> Source:
    """Returns the source of a step whose update is written as the old graph computes it.

    Args:
      plan: of the lift.
      graph: of the lift.
      whole: the whole graph, with its initializers.
      initial: {variable: value to start from}.
      reason: why no named fields describe the step.
      settings: {scalar input: text of its value}.
      style: one of `STYLES`.
      examples: see `source_text`.

    Returns:
      The source.

    Raises:
      Unwritten: the update cannot be written either; the message has both reasons.
    """
    initializers, unknown = find_initializers(whole, plan.variables)
    try:
        step = recover_updates(plan, graph, initializers, _reason(reason).splitlines())
        step = step.with_losses(with_equal_losses(step.losses))
        losses = step.losses
        fed = {name: source for loss in losses for name, source in loss.model.settings.items()}
        values, assumed = setting_values(plan, fed, settings)
        notes = [note for loss in losses for note in notes_on(loss.model, assumed)]
        proof = prove_losses(plan, graph, initial, losses, losses_lines(ImportedStep(losses, [])), values, examples)
        notes.append(proof.sentence)
        notes = [*dict.fromkeys(notes), *_default_note(plan.variables, unknown)]
        starts = first_values(plan.variables, initializers, initial)
        text = STEP_STYLES[style](plan, step, docstring_of_update(plan, step, notes), values, starts)
        text = in_order(text) if proof.in_any_order else text
        return Source(text, [*notes, *(f"update as in the old graph: {why}" for why in step.reasons)])
    except (Unwritten, *_SURPRISES) as error:
        raise _with_both(reason, error) from error


def _default_note(variables: Sequence[Variable], unknown: Sequence[str]) -> List[str]:
    """Names the weights that a source draws from the default distribution, since theirs is not known."""
    weights = [variable.name for variable in variables if variable.role == "weight" and variable.name in unknown]
    return [f"initializers not recognised, the default stands: {listed(weights, MOST_LISTED)}"] if weights else []


def source_with_import(
    plan: Plan,
    graph: Graph,
    initial: Dict[str, np.ndarray],
    reason: Exception,
    folder: str,
    examples: Sequence[Arrays] = (),
) -> Source:
    """Writes the source of the losses, with the rest of the step imported from the lift.

    Args:
      plan: of the lift.
      graph: of the lift.
      initial: {variable: value to start from}.
      reason: why the rest is not written.
      folder: see `source_text`.
      examples: see `source_text`.

    Returns:
      The source.

    Raises:
      InputError: no loss can be written, or there is no folder.
    """
    try:
        step = recover_losses(plan, graph, _reason(reason).splitlines())

        def prove(part: ImportedStep) -> str:
            return prove_losses(
                plan, graph, initial, part.losses, imported_style.losses_lines(part), {}, examples
            ).sentence

        step = keep_proven(step, prove)
        notes, proof = [note for loss in step.losses for note in notes_on(loss.model, [])], prove(step)
    except (Unwritten, *_SURPRISES) as error:
        raise _refusal(plan, _with_both(reason, error)) from error
    if not folder:
        hint = "with --out, the losses are written, and the rest is imported from its folder"
        raise _refusal(plan, Unwritten("\n".join([*step.reasons, hint])))
    written = ", ".join(loss.phase.train_op for loss in step.losses)
    notes = [*dict.fromkeys(notes), proof, f"imported from {folder}: all but the loss of {written}"]
    notes += [f"not written: {text}" for text in step.reasons]
    return Source(imported_style.module_text(step, docstring_of_losses(plan, step, proof, folder), folder), notes)


def _with_both(first: Exception, second: Exception) -> Unwritten:
    """Returns the reasons of two errors, each once."""
    return Unwritten("\n".join(dict.fromkeys([*_reason(first).splitlines(), *_reason(second).splitlines()])))


def _refusal(plan: Plan, error: Exception) -> InputError:
    """Returns the error that says in one line why a source is not written: the reasons of all parts."""
    return InputError(f"--source: {plan.name} cannot be written: " + "; ".join(_reason(error).splitlines()))


def _reason(error: Exception) -> str:
    """Returns the reason why a source is not written; of an error that was not foreseen, its kind too."""
    if isinstance(error, Unwritten):
        return str(error)
    if isinstance(error, tf.errors.OpError):
        hint = "; lift the graph with --layout=NHWC" if "NHWC" in str(error.message) else ""
        data = "--data proves it on the program's own data"
        return f"proof: an op does not run on these numbers: {error_line(error)}{hint}; {data}"
    missing = _NO_GRADIENT.search(str(error))
    if missing:
        return f"loss: this TensorFlow has no gradient of {missing.group(1)}, which old add-ons brought along"
    return f"the graph has a form that is not known here ({type(error).__name__}: {str(error).splitlines()[:1]})"


def source_of_analysis(
    found: Analysis,
    initial: Dict[str, np.ndarray],
    settings: Mapping[str, str],
    style: str = "workload",
    folder: str = "",
    examples: Sequence[Arrays] = (),
) -> Source:
    """Returns the source of an analysed graph.

    Args:
      found: the analysis.
      initial: {variable: value to start from}.
      settings: {scalar input: text of its value}.
      style: one of `STYLES`.
      folder: see `source_text`.
      examples: see `source_text`.

    Returns:
      The source; see `source_text`.
    """
    return source_text(found.plan, found.cut.graph, found.whole, initial, settings, style, folder, examples)


def write_source(path: str, source: Source) -> None:
    """Writes a source to a file, all of it or nothing."""
    write_text(path, source.text, "--source")
