"""`--autodiff=new`: differentiates a lifted loss afresh, instead of running the old graph's own gradient ops."""

from __future__ import annotations

import tensorflow as tf

from workloads.lifted.graph import split
from workloads.support.errors import InputError


def check(workload, phase):
    """Raises `InputError`, saying why, where a lifted loss cannot be differentiated anew."""
    why = None
    if not phase.losses:
        why = "the graph does not tell what is minimized"
    elif phase.returns:
        why = "each tower's gradients depend on all towers' results"
    elif not all(phase.raw):
        why = "its gradients are not found one by one"
    else:
        inside = workload.graph.ancestors([split(name)[0] for name in phase.losses], controls=False)
        loops = sorted(inside & workload.graph.frames())
        if loops:
            why = f"its while loops, such as the one of {loops[0]!r}, hold no gradient that could be made anew"
    if why:
        raise InputError("--autodiff: got 'new', this graph runs its own gradients only: " + why)


def gradients(phase, tower, piece, arguments):
    """{tensor of the old graph: its value anew} of a tower's raw gradients, and the loss.

    Args:
      phase, tower: whose.
      piece: `pieces.Piece` of the tower's loss.
      arguments: values of its feeds.

    Raises:
      InputError: an op of the loss has no gradient in this TensorFlow.
    """
    fed = {feed.placeholder + ":0": argument for feed, argument in zip(piece.feeds, arguments)}
    (loss,) = tf.import_graph_def(piece.graph_def, input_map=fed, return_elements=piece.fetches, name="")
    reads = {feed.key[0]: a for feed, a in zip(piece.feeds, arguments) if feed.kind == "read"}
    labels = [label for label in phase.raw[tower] if label in reads]
    try:
        made = tf.compat.v1.gradients(loss, [reads[label] for label in labels])
    except (LookupError, ValueError) as error:
        raise InputError(f"--autodiff: got 'new', this loss has no gradient: {str(error).splitlines()[0]}")
    found = {phase.losses[tower]: loss}
    for label, gradient in zip(labels, made):
        _place(found, phase, tower, label, gradient, reads[label])
    return found


def _place(found, phase, tower, label, gradient, value):
    rows = phase.raw[tower].get(label + " (indices)")
    if gradient is None:
        gradient = tf.zeros_like(value)
    scale = tf.cast(phase.loss_scale if phase.shared_loss else 1.0, value.dtype)
    if rows is not None:
        if not isinstance(gradient, tf.IndexedSlices):
            raise InputError(f"--autodiff: got 'new', the old gradient of {label!r} is sparse, and the new one is not")
        found[phase.raw[tower][label]] = gradient.values * scale
        found[rows] = gradient.indices
        return
    found[phase.raw[tower][label]] = tf.convert_to_tensor(gradient) * scale
