"""Lines that combine the replicas' gradients, and other results, with the rounding of the old graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, Sequence

from legacy.source.basics.rendering import literal_text
from legacy.source.lines.line_breaks import WIDTH, item_lines

if TYPE_CHECKING:
    from legacy.source.update.shared import Reduced


def reduced_lines(name: str, combine: str, reciprocal: bool, values: str = "") -> List[str]:
    """Returns the lines that reduce gradients over the replicas.

    Args:
      name: what is assigned in the text.
      combine: "mean" or "sum".
      reciprocal: whether a mean is a sum times one over the number of replicas, which rounds twice.
      values: the gradients in the text; `name` by default.

    Returns:
      The lines.

    >>> reduced_lines("g", "sum", False)
    ['g = context.all_reduce(tf.distribute.ReduceOp.SUM, g)']
    >>> reduced_lines("g", "mean", True)[1]
    'g = [gradient * (1.0 / context.num_replicas_in_sync) for gradient in g]'
    """
    times = combine == "mean" and reciprocal
    how = "SUM" if times else combine.upper()
    lines = [f"{name} = context.all_reduce(tf.distribute.ReduceOp.{how}, {values or name})"]
    if times:
        lines.append(f"{name} = [gradient * (1.0 / context.num_replicas_in_sync) for gradient in {name}]")
    return lines


def multiplied_lines(multipliers: Mapping[str, float], weights: Sequence[str]) -> List[str]:
    """Returns the lines that multiply reduced gradients, by the name of their weight.

    Args:
      multipliers: {weight: factor} of those whose factor is not one.
      weights: that have gradients.

    Returns:
      The lines.

    >>> multiplied_lines({"w": 2.0, "b": 2.0}, ["w", "b"])
    ['gradients = {name: gradient * 2.0 for name, gradient in gradients.items()}']
    >>> multiplied_lines({"b": 2.0}, ["w", "b"])
    ['for name in ["b"]:', '    gradients[name] *= 2.0']
    """
    factors: Dict[float, List[str]] = {}
    for name in weights:
        if name in multipliers:
            factors.setdefault(multipliers[name], []).append(name)
    lines: List[str] = []
    for factor, names in factors.items():
        text = literal_text(factor)
        if names == list(weights):
            return [f"gradients = {{name: gradient * {text} for name, gradient in gradients.items()}}"]
        head = f"for name in {literal_text(names)}:"
        long = len(head) + 4 > WIDTH
        lines += ["for name in [", *item_lines(names, 4), "]:"] if long else [head]
        lines.append(f"    gradients[name] *= {text}")
    return lines


def result_lines(results: Sequence[Reduced]) -> List[str]:
    """Returns the lines that combine other results than gradients over the replicas, as few as fit.

    >>> from legacy.source.update.shared import Reduced
    >>> result_lines([Reduced("part", "part", "mean"), Reduced("mean_loss", "loss", "mean")])
    ['part, mean_loss = context.all_reduce(tf.distribute.ReduceOp.MEAN, [part, loss])']
    >>> result_lines([Reduced("total_loss", "loss", "sum")])
    ['total_loss = context.all_reduce(tf.distribute.ReduceOp.SUM, loss)']
    >>> result_lines([Reduced("part", "part", "concat")])
    ['part = tf.concat(gather(context, part), axis=0)']
    """
    lines = [f"{one.name} = tf.concat(gather(context, {one.part}), axis=0)" for one in results if one.kind == "concat"]
    for kind in dict.fromkeys(one.kind for one in results if one.kind != "concat"):
        alike = [one for one in results if one.kind == kind]
        alone = [reduced_lines(one.name, kind, False, one.part)[0] for one in alike]
        names, parts = ", ".join(one.name for one in alike), ", ".join(one.part for one in alike)
        together = reduced_lines(names, kind, False, f"[{parts}]")
        lines += together if len(alike) > 1 and len(together[0]) + 4 <= WIDTH else alone
    return lines
