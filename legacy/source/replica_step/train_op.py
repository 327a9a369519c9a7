"""Text of the function of a train op: a replica's loss and gradients, their way to the update, and the update."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, List

from legacy.source.lines.line_breaks import WIDTH
from legacy.source.ops.random_numbers import draws_noise
from legacy.source.replica_step.differentiation import (
    DIFFERENTIATE,
    derivative_lines,
    minimized_text,
    names_of_losses,
)
from legacy.source.replica_step.lines import clip_lines, has_rows, listed, statistics_text
from legacy.source.replica_step.reduced import multiplied_lines, reduced_lines, result_lines
from legacy.source.update.paths import further_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.source.step.imported_step import WrittenLoss
    from legacy.source.update.written import WrittenUpdate

_INDENT = "    "


def with_short_lines(lines: Sequence[str], groups: Sequence[str]) -> List[str]:
    """Returns lines in which the sum of all lists of weights has a name, where it makes a line too long.

    >>> with_short_lines(["gradients = dict(zip(A + B, gradients))"], ["A", "B"])
    ['gradients = dict(zip(A + B, gradients))']
    """
    group, most = " + ".join(groups), WIDTH - len(_INDENT)
    long = [number for number, line in enumerate(lines) if len(line) > most and group in line]
    if not long or len(groups) < 2:
        return list(lines)
    made = [f"weights = {group}"]
    if len(made[0]) > most:
        made = ["weights = (", f"{_INDENT}{groups[0]}", *(f"{_INDENT}+ {one}" for one in groups[1:]), ")"]
    short = [line.replace(group, "weights") for line in lines[long[0] :]]
    return [*lines[: long[0]], *made, *short]


def _further_lines(update: WrittenUpdate, differentiate: str, has_rows: bool) -> List[str]:
    """Returns the lines that make further gradients of some weights.

    Args:
      update: the train op.
      differentiate: how a loss is differentiated, with fields; see `DIFFERENTIATE`.
      has_rows: whether gradients may be rows.

    Returns:
      The lines.
    """
    lines: List[str] = []
    for number, (one, group) in enumerate(zip(update.path.further, update.further_groups)):
        name = further_name(number)
        loss = minimized_text(names_of_losses(update), one.losses)
        lines.append(f"{name} = " + differentiate.format(loss=loss, group=group, seed=""))
        if has_rows:
            lines.append(f"{name} = [tf.convert_to_tensor(gradient) for gradient in {name}]")
        lines += reduced_lines(name, update.path.combine, update.path.reciprocal)
        lines.append(f"{name} = dict(zip({group}, {name}))")
    return lines


def _joined_lines(update: WrittenUpdate) -> List[str]:
    """Returns the lines that join the rows of all replicas and reduce the other gradients."""
    path = update.path
    lines = [
        f"gradients = dict(zip({update.group}, gradients))",
        *path.own_lines,
        "for name in rows:  # those of all replicas, one after another",
        "    slices = gather(context, gradients[name])",
        f"    joined = tf.concat([one.values for one in slices], axis=0){path.rows_scaled}",
        "    gradients[name] = tf.IndexedSlices(joined, tf.concat([one.indices for one in slices], axis=0))",
    ]
    if set(path.joined_rows) < set(path.weights):
        values = "[gradients[name] for name in dense]"
        lines += [
            f"dense = [name for name in {update.group} if name not in rows]",
            *reduced_lines("reduced", path.combine, path.reciprocal, values),
            "gradients.update(zip(dense, reduced))",
        ]
    return lines


def _lines_of_all(loss: WrittenLoss, names: Sequence[str], functions: str) -> List[str]:
    """Returns the lines that compute a loss of all replicas' batches: `results` of each, and what is `minimized`.

    Args:
      loss: the loss.
      names: of this replica's results.
      functions: text of the losses.

    Returns:
      The lines.
    """
    of_batch, batches = "scope", "values in batches"
    if draws_noise(functions):
        of_batch, batches = "scope.of(n)", "n, values in enumerate(batches)"
    if "scope.update(" in functions:  # those of its own batch
        of_batch, batches = "scope if n == scope.replica else scope.of(n)", "n, values in enumerate(batches)"
    result, loop = f"{loss.function}({of_batch}, dict(zip(batch, values)))", f"for {batches}"
    line = f"results = [{result} {loop}]"
    return [
        "batches = zip(*(gather(context, value) for value in batch.values()))",
        *([line] if len(_INDENT + line) <= WIDTH else ["results = [", _INDENT + result, _INDENT + loop, "]"]),
        f"{', '.join([*names, '*_'])} = results[scope.replica]",
        f"minimized = {loss.function_of_all}(scope, results)",
    ]


def _loss_lines(update: WrittenUpdate, loss: WrittenLoss, functions: str, style: str) -> List[str]:
    """Returns the lines that compute a replica's losses and its gradients of them, before these are combined."""
    path, factor = update.path, update.factor
    losses = names_of_losses(update)
    minimized = [minimized_text(losses, numbers) for numbers in path.weights_of_losses()]
    if loss.with_others:
        lines = _lines_of_all(loss, [*losses, *factor.parts], functions)
        minimized = ["minimized"]
    else:
        lines = [f"{', '.join([*losses, *factor.parts])} = {loss.function}(scope, batch)"]
        if factor.further:
            minimized = [f"[{', '.join(['loss', *factor.parts[: factor.further]])}]"]
    lines += [f"{part}s = gather(context, {part})" for part in factor.needed_of_all]
    lines += result_lines(factor.reduced)
    lines += textwrap.dedent("\n".join(factor.lines)).splitlines()
    lines += derivative_lines(update, minimized, style)
    if has_rows(functions) and path.rows:
        lines += listed("rows", path.rows)
        if set(path.rows) < set(path.weights):
            lines.append(f"pairs = zip({update.group}, gradients)")
            lines.append("gradients = [g if name in rows else tf.convert_to_tensor(g) for name, g in pairs]")
    elif has_rows(functions):
        lines.append("gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]")
    return lines + clip_lines(path.clip)


def _combining_lines(update: WrittenUpdate) -> List[str]:
    """Returns the lines that make a dict of the list `gradients`: of reduced gradients, or of those of all replicas."""
    path = update.path
    if path.combine and path.joined_rows:
        return _joined_lines(update)
    if path.own_lines:
        values = f"[gradients[name] for name in {update.group}]"
        return [
            f"gradients = dict(zip({update.group}, gradients))",
            *path.own_lines,
            *reduced_lines("reduced", path.combine, path.reciprocal, values),
            f"gradients = dict(zip({update.group}, reduced))",
        ]
    if path.combine:
        return [
            *reduced_lines("gradients", path.combine, path.reciprocal),
            *clip_lines(path.clip_after),
            f"gradients = dict(zip({update.group}, gradients))",
            *multiplied_lines(path.multipliers, path.weights),
        ]
    return [f"gradients = {{n: gather(context, gradient) for n, gradient in zip({update.group}, gradients)}}"]


def _with_dicts_at_once(lines: Sequence[str]) -> List[str]:
    """Returns lines in which what becomes a dict of weights at once has no name as a list before, if a line has room.

    >>> _with_dicts_at_once(["g = reduced(g)", "g = dict(zip(WEIGHTS, g))"])
    ['g = dict(zip(WEIGHTS, reduced(g)))']
    """
    made: List[str] = []
    for line in lines:
        name, _, rest = line.partition(" = dict(zip(")
        group, _, given = rest.rpartition(", ")
        start = f"{given[:-2]} = "
        if made and group and given.endswith("))") and made[-1].startswith(start):
            together = f"{name} = dict(zip({group}, {made[-1][len(start) :]}))"
            if len(_INDENT + together) <= WIDTH and " for " not in made[-1]:
                made[-1] = together
                continue
        made.append(line)
    return made


def train_op_text(update: WrittenUpdate, functions: str, style: str = "standalone") -> str:
    """Returns the text of the function of a train op.

    Args:
      update: the train op.
      functions: text of the losses.
      style: see `DIFFERENTIATE`.

    Returns:
      The text.
    """
    loss = update.loss
    head = [f"def {update.function}(scope, batch, variables, context):"]
    if loss is None:
        head.append(f'    """Runs {update.phase.train_op}, which has no loss; returns zero."""')
        return "\n".join([*head, f"{_INDENT}values = scope.values", *update.lines, "    return tf.zeros([])"])
    body = [
        *_loss_lines(update, loss, functions, style),
        *_combining_lines(update),
        *_further_lines(update, DIFFERENTIATE[style], has_rows(functions)),
    ]
    body = with_short_lines(_with_dicts_at_once(body), update.groups)
    body += ["losses = gather(context, loss)"] if update.uses_losses and not update.factor.of_all else []
    head.append(f'    """Runs a replica\'s part of {update.phase.train_op}; returns its loss."""')
    statistics = textwrap.indent(textwrap.dedent(statistics_text(loss.model, update.uses_turns)), _INDENT)
    statistics = statistics.replace("local[", "variables[").replace(" replica ==", " scope.replica ==")
    lines = [*update.before, *(_INDENT + line for line in body), *statistics.splitlines(), *update.lines]
    head += [f"{_INDENT}values = scope.values"] if any("values[" in line for line in lines) else []
    return "\n".join([*head, *lines, "    return loss"])
