"""`--autodiff=new`: differentiates a lifted loss by `tf.gradients`, instead of running the old gradient ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from modern.lifted.function import Tensors
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.piece import Piece, VariableVersion
from workloads.lifted.plan import Phase, indices_label
from workloads.lifted.tensors.lift_taps import NO_TAPS, PhaseTaps
from workloads.lifted.workload import LiftedWorkload
from workloads.support.errors import InputError


def check_differentiable(workload: LiftedWorkload, phase: Phase) -> None:
    """Raises `InputError` with the reason if the losses of a phase cannot be differentiated anew."""
    reason = None
    if not phase.losses:
        reason = "the graph does not tell what is minimized"
    elif phase.other_losses:
        reason = f"several losses are differentiated: {phase.losses[0]}, {phase.other_losses[0][0]}"
    elif phase.returns:
        reason = "each tower's gradients depend on all towers' results"
    elif not all(phase.raw):
        reason = "its gradients are not found one by one"
    else:
        losses = [parse_tensor_name(name).node for name in phase.losses]
        loops = sorted(workload.graph.ancestors(losses, controls=False) & workload.graph.frames())
        if loops:
            reason = f"its while loops, such as the one of {loops[0]!r}, hold no gradient that could be made anew"
    if reason:
        raise InputError("--autodiff: got 'new', this graph runs its own gradients only: " + reason)


def differentiate_tower(
    phase: Phase, tower: int, piece: Piece, arguments: Sequence[tf.Tensor], taps: PhaseTaps = NO_TAPS
) -> Tensors:
    """Computes the loss and the raw gradients of a tower.

    Args:
      phase: the phase.
      tower: number of the tower.
      piece: computes the tower's loss, and its taps.
      arguments: values of its feeds.
      taps: of the phase.

    Returns:
      {tensor of the old graph: value} of the loss, of the taps, and of the gradients as `tf.gradients` computes them.

    Raises:
      InputError: an op of the loss has no gradient in this TensorFlow.
    """
    fed = {feed.placeholder + ":0": argument for feed, argument in zip(piece.feeds, arguments)}
    loss, *tapped = import_graph(piece.graph_def, fed, piece.fetches)
    reads = {f.key.variable: a for f, a in zip(piece.feeds, arguments) if isinstance(f.key, VariableVersion)}
    weights = [weight for weight in phase.raw[tower] if weight in reads]
    try:
        gradients = tf.compat.v1.gradients(loss, [reads[weight] for weight in weights] + tapped)
    except (LookupError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"--autodiff: got 'new', this loss has no gradient: {reason}") from error
    found = {phase.losses[tower]: loss}
    for weight, gradient in zip(weights, gradients):
        found.update(as_old_tensors(phase, phase.raw[tower], weight, gradient, reads[weight]))
    tapped_gradients = dict(zip(taps.values(tower), zip(tapped, gradients[len(weights) :])))
    found.update(zip(taps.values(tower).values(), tapped))
    for tap, name in taps.gradients(tower).items():
        found[name] = _scaled(phase, *tapped_gradients[tap])
    return found


def as_old_tensors(
    phase: Phase,
    raw: Mapping[str, str],
    weight: str,
    gradient: tf.Tensor | tf.IndexedSlices | None,
    value: tf.Tensor,
) -> Tensors:
    """Gives a new gradient the place of the old one, scaled as the old graph scales its losses.

    Args:
      phase: the phase.
      raw: {weight: tensor} of the tower's gradients before any clipping, with the rows of sparse ones.
      weight: the weight.
      gradient: as `tf.gradients` gives it.
      value: of the weight.

    Returns:
      {tensor of the old graph: value}; two of a sparse gradient.

    Raises:
      InputError: the old gradient is sparse and the new one is not.
    """
    # Rows that are added to a variable before an update takes it have their indices under that variable's name.
    indices = [raw.get(indices_label(label)) for label, tensor in raw.items() if tensor == raw[weight]]
    rows = next(filter(None, indices), None)
    if rows is None:
        return {raw[weight]: _scaled(phase, value, gradient)}
    if not isinstance(gradient, tf.IndexedSlices):
        raise InputError(f"--autodiff: got 'new', the old gradient of {weight!r} is sparse, and the new one is not")
    return {raw[weight]: _scaled(phase, gradient.values, gradient.values), rows: gradient.indices}


def _scaled(phase: Phase, value: tf.Tensor, gradient: tf.Tensor | tf.IndexedSlices | None) -> tf.Tensor:
    """Returns the gradient to `value`, scaled as the old graph scales its losses; zeros for None."""
    if gradient is None:
        gradient = tf.zeros_like(value)
    return tf.convert_to_tensor(gradient) * tf.cast(phase.loss_scale if phase.shared_loss else 1.0, value.dtype)
