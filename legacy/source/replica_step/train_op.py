"""Text of the function of a train op: a replica's loss and gradients, their way to the update, and the update."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, List

import numpy as np

from legacy.source.basics.rendering import WIDTH, literal_text
from legacy.source.ops.random_numbers import draws_noise
from legacy.source.replica_step.lines import clip_lines, has_rows, listed, statistics_text
from legacy.source.replica_step.reduced import multiplied_lines, reduced_lines, result_lines
from legacy.source.update.paths import further_name
from legacy.source.update.written import loss_name
from workloads.lifted.replication import sums_to_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.source.update.written import WrittenUpdate

_INDENT = "    "
#: {style: how it differentiates a loss with respect to a group of weights}.
DIFFERENTIATE = {
    "standalone": 'tf.gradients({loss}, [values[name] for name in {group}]{seed}, unconnected_gradients="zero")',
    "workload": "scope.gradients({loss}, {group}{seed})",
}


def _names_of_losses(update: WrittenUpdate) -> List[str]:
    """Returns the names of a tower's losses: the reported one, then others, or its part that depends on data."""
    if len(update.phase.minimized) == 1:
        return ["loss", "data_loss"]
    return [loss_name(number) for number in range(1 + len(update.phase.other_losses))]


def _minimized(names: Sequence[str], numbers: Sequence[int]) -> str:
    """Returns the text of what is differentiated: a loss, or several whose sum is minimized.

    >>> _minimized(["loss", "loss2"], [0]), _minimized(["loss", "loss2"], [0, 1])
    ('loss', '[loss, loss2]')
    """
    text = ", ".join(names[number] for number in numbers)
    return f"[{text}]" if len(numbers) > 1 else text


def _seed_lines(scales: Sequence[float], replicas: int = 0) -> List[str]:
    """Returns the line that makes the derivatives which differentiation starts with: one for all losses, or a list.

    >>> _seed_lines([0.5, 0.5]), _seed_lines([0.5, 0.25])
    (['seed = tf.constant(0.5)'], ['seeds = [tf.constant(0.5), tf.constant(0.25)]'])
    >>> _seed_lines([0.5], 2)
    ['seed = tf.constant(1.0 / scope.replicas)']

    Args:
      scales: factor on each of a tower's losses.
      replicas: number of towers whose part of a mean the factors make; 0 if they make none.

    Returns:
      The line; nothing where there are no factors.
    """
    texts = []
    for scale in map(np.float32, scales):
        share = np.float32(scale * np.float32(replicas))
        is_part = replicas and np.float32(float(share) / replicas) == scale
        texts.append(f"tf.constant({literal_text(share) + ' / scope.replicas' if is_part else literal_text(scale)})")
    if len(set(texts)) > 1:
        return [f"seeds = [{', '.join(texts)}]"]
    return [f"seed = {texts[0]}"] if texts else []


def _seed(scales: Sequence[float], numbers: Sequence[int]) -> str:
    """Returns the text of the argument that gives the seeds of some losses.

    >>> _seed([0.5, 0.5], [0, 1]), _seed([0.5, 0.25], [0, 1]), _seed([0.5, 0.25], [1])
    (', [seed] * 2', ', seeds', ', seeds[1]')
    """
    if len(set(map(np.float32, scales))) == 1:
        return f", [seed] * {len(numbers)}" if len(numbers) > 1 else ", seed"
    if len(numbers) == 1:
        return f", seeds[{numbers[0]}]"
    is_all = list(numbers) == list(range(len(scales)))
    return ", seeds" if is_all else f", [{', '.join(f'seeds[{number}]' for number in numbers)}]"


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
        loss = _minimized(_names_of_losses(update), one.losses)
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
        "for name in rows:  # those of all replicas, one after another",
        "    slices = gather(context, gradients[name])",
        f"    joined = tf.concat([one.values for one in slices], axis=0){path.rows_scaled}",
        "    gradients[name] = tf.IndexedSlices(joined, tf.concat([one.indices for one in slices], axis=0))",
    ]
    if set(path.rows) < set(path.weights):
        values = "[gradients[name] for name in dense]"
        lines += [
            f"dense = [name for name in {update.group} if name not in rows]",
            *reduced_lines("reduced", path.combine, path.reciprocal, values),
            "gradients.update(zip(dense, reduced))",
        ]
    return lines


def train_op_text(update: WrittenUpdate, functions: str, style: str = "standalone") -> str:
    """Returns the text of the function of a train op.

    Args:
      update: the train op.
      functions: text of the losses.
      style: see `DIFFERENTIATE`.

    Returns:
      The text.
    """
    path, loss = update.path, update.loss
    head = [f"def {update.function}(scope, batch, variables, context):"]
    if loss is None:
        head.append(f'    """Runs {update.phase.train_op}, which has no loss; returns zero."""')
        return "\n".join([*head, f"{_INDENT}values = scope.values", *update.lines, "    return tf.zeros([])"])
    body = []
    losses = _names_of_losses(update)
    minimized = [_minimized(losses, numbers) for numbers in path.weights_of_losses()]
    if loss.with_others:
        body += ["batches = zip(*(gather(context, value) for value in batch.values()))"]
        of_batch, batches = "scope", "values in batches"
        if draws_noise(functions):
            of_batch, batches = "scope.of(n)", "n, values in enumerate(batches)"
        if "scope.update(" in functions:  # those of its own batch
            of_batch, batches = "scope if n == scope.replica else scope.of(n)", "n, values in enumerate(batches)"
        result, loop = f"{loss.function}({of_batch}, dict(zip(batch, values)))", f"for {batches}"
        line = f"results = [{result} {loop}]"
        body += [line] if len(_INDENT + line) <= WIDTH else ["results = [", _INDENT + result, _INDENT + loop, "]"]
        body += [f"{', '.join([*losses, *update.factor.parts, '*_'])} = results[scope.replica]"]
        body += [f"minimized = {loss.function_of_all}(scope, results)"]
        minimized = ["minimized"]
    else:
        body.append(f"{', '.join([*losses, *update.factor.parts])} = {loss.function}(scope, batch)")
        if update.factor.further:
            minimized = [f"[{', '.join(['loss', *update.factor.parts[: update.factor.further]])}]"]
    body += [f"{part}s = gather(context, {part})" for part in update.factor.needed_of_all]
    body += result_lines(update.factor.reduced)
    body += textwrap.dedent("\n".join(update.factor.lines)).splitlines()
    towers = len(update.phase.losses)
    body += _seed_lines(path.scales, towers if path.combine and sums_to_mean(update.phase, towers) else 0)
    for name, group, numbers in zip(minimized, update.groups, path.weights_of_losses()):
        seed = _seed(path.scales, numbers) if path.scales else ", factor" if update.factor.lines else ""
        seed += "s" * bool(update.factor.further)
        assign = "gradients += " if group != update.groups[0] else "gradients = "
        body.append(assign + DIFFERENTIATE[style].format(loss=name, group=group, seed=seed))
    if has_rows(functions) and path.rows:
        body += listed("rows", path.rows)
        body.append(f"pairs = zip({update.group}, gradients)")
        body.append("gradients = [g if name in rows else tf.convert_to_tensor(g) for name, g in pairs]")
    elif has_rows(functions):
        body.append("gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]")
    body += clip_lines(path.clip)
    if path.combine and path.rows:
        body += _joined_lines(update)
    elif path.combine:
        body += reduced_lines("gradients", path.combine, path.reciprocal)
        body += clip_lines(path.clip_after)
        body.append(f"gradients = dict(zip({update.group}, gradients))")
        body += multiplied_lines(path.multipliers, path.weights)
    else:
        body.append(f"gradients = {{n: gather(context, gradient) for n, gradient in zip({update.group}, gradients)}}")
    body += _further_lines(update, DIFFERENTIATE[style], has_rows(functions))
    body = with_short_lines(body, update.groups)
    body += ["losses = gather(context, loss)"] if update.uses_losses and not update.factor.of_all else []
    head.append(f'    """Runs a replica\'s part of {update.phase.train_op}; returns its loss."""')
    statistics = textwrap.indent(textwrap.dedent(statistics_text(loss.model, update.uses_turns)), _INDENT)
    statistics = statistics.replace("local[", "variables[").replace(" replica ==", " scope.replica ==")
    lines = [*update.before, *(_INDENT + line for line in body), *statistics.splitlines(), *update.lines]
    head += [f"{_INDENT}values = scope.values"] if any("values[" in line for line in lines) else []
    lines = head + lines
    return "\n".join([*lines, "    return loss"])
