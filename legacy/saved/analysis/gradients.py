"""The gradients of a phase: each tower's, what was differentiated before clipping, and how they are combined."""

from __future__ import annotations

from legacy.saved.analysis import losses, reduction_probe
from legacy.saved.graph import op_types
from workloads.lifted.graph import split, tensor_name


def combine(context, phase, cutter):
    """([`plan.Combine`], [{weight: tensor's name} for each tower]) of a `phases.PhaseParts`."""
    nodes, count = phase.divided.tower_nodes, context.towers.count
    found, gradients = [], [{} for _ in range(count)]
    for effect in phase.effects:
        for label, value in _inputs(context, effect):
            target = split(value)
            parts = reduction_probe.nearest_tensors(context.graph, target, nodes, _like(context, target), count)
            if not any(parts):
                continue
            shape = context.state.variables[effect.writes[0]].shape
            found.append(
                reduction_probe.recognise_reduction(
                    context.graph, cutter, context.imported, label, target, parts, nodes, shape
                )
            )
            for tower, tensors in enumerate(parts):
                for i, tensor in enumerate(tensors):
                    key = label if len(tensors) == 1 else f"{label} (part {i + 1})"
                    gradients[tower][key] = tensor_name(*tensor)
    return found, gradients


def raw(context, gradients):
    """{weight: tensor} for each tower: gradients as they came from differentiation; {} if some are not found."""
    result = []
    for tower in gradients:
        found = {label: _raw(context, tower, label, split(name)) for label, name in tower.items()}
        complete = None not in found.values()
        result.append(dict(zip(found, context.names(found.values()))) if complete else {})
    return result


def _raw(context, tower, label, tensor):
    """One raw gradient, or None."""
    if " (part" in label:
        return None
    found = losses.raw_gradient(context.graph, tensor, _like(context, tensor))
    dense = label + " (indices)" not in tower and label in context.state.variables
    if found is None or not dense:
        return found
    shape = context.imported.shape(*found)  # an IndexedSlices that was made dense has other rows than its variable
    return found if shape in (None, tuple(context.state.variables[label].shape)) else None


def _like(context, target):
    """Whether a tensor could be a part of `target`: same dtype and rank, same rows unless those are joined."""
    dtype, shape = context.signature(target)

    def test(name, output):
        other_dtype, other = context.signature((name, output))
        if other_dtype != dtype or shape is None or other is None:
            return other_dtype == dtype
        sizes = list(zip(shape, other))[1:]
        return len(other) == len(shape) and all(a == b or None in (a, b) for a, b in sizes)

    return test


def _inputs(context, effect):
    """[(label, tensor)]: the gradient, and the rows of a sparse one; what an optimizer written by hand assigns."""
    weight = effect.writes[0]
    if effect.gradient is None:
        return [(weight, effect.values[0])] if effect.node in context.state.rules and effect.gradient_at < 0 else []
    pairs = [(weight, effect.gradient)]
    if op_types.is_sparse(effect.op):
        applies = op_types.is_apply(effect.op)
        pairs.append((weight + " (indices)", effect.values[effect.gradient_at + 1 if applies else 0]))
    return pairs
