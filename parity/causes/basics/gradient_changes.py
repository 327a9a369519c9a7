"""Changes that inject a fitted difference of the gradients into a clean port: factors, decays, weights of replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult

#: {step: one factor a replica}.
StepFactors = Mapping[int, Sequence[float]]


def scaled_gradients(replica: float = 1.0, reduction: float = 1.0, loss: float = 1.0) -> injection.Change:
    """Injects factors of every gradient.

    Args:
      replica: factor of each replica's gradients.
      reduction: factor of the combined gradients, before they are clipped.
      loss: factor of each replica's loss.

    Returns:
      the change.
    """

    class Step(ReplicaStep):
        """Multiplies losses and gradients."""

        def _forward_backward(self, local: LocalState, step: tf.Tensor, number: int, batch: Tensors) -> PassResult:
            found = super()._forward_backward(local, step, number, batch)
            return found._replace(
                loss=found.loss * loss, gradients={name: g * replica for name, g in found.gradients.items()}
            )

        def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
            if reduction == 1:
                return super()._combine(context, gradients)
            return super()._combine(context, {name: value * reduction for name, value in gradients.items()})

    return injection.in_replica_step(Step)


def partly_scaled_gradients(factors: Mapping[str, float]) -> injection.Change:
    """Injects a factor of some weights' gradients on every replica, given as {weight: factor}."""

    class Step(ReplicaStep):
        """Multiplies some gradients."""

        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            found = super()._forward_backward(local, step, replica, batch)
            scaled = {name: g * factors[name] if name in factors else g for name, g in found.gradients.items()}
            return found._replace(gradients=scaled)

    return injection.in_replica_step(Step)


def scaled_combined(factors: Mapping[str, float]) -> injection.Change:
    """Injects a factor of some combined gradients, given as {weight: factor}."""

    class Step(ReplicaStep):
        """Multiplies some combined gradients."""

        def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
            combined = super()._combine(context, gradients)
            return {name: g * factors[name] if name in factors else g for name, g in combined.items()}

    return injection.in_replica_step(Step)


def gradients_scaled_by_step(
    factors: StepFactors, losses: StepFactors, decays: Mapping[int, Mapping[str, Sequence[float]]] | None = None
) -> injection.Change:
    """Injects factors of each replica's gradients and losses in some steps; a loss may become NaN.

    Args:
      factors: of the gradients.
      losses: of the losses.
      decays: {step: {weight: one multiple a replica}} that the gradients add, with their penalty in the loss; or None.

    Returns:
      the change.
    """
    multiples = decays or {}
    decayed = sorted({name for row in multiples.values() for name in row})

    class Step(ReplicaStep):
        """Multiplies losses and gradients in some steps."""

        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            found = super()._forward_backward(local, step, replica, batch)
            loss = found.loss
            factor = step_value(step, {number: row[replica] for number, row in factors.items()}, 1.0, loss.dtype)
            of_loss = step_value(step, {number: row[replica] for number, row in losses.items()}, 1.0, loss.dtype)
            scaled, loss = {name: g * factor for name, g in found.gradients.items()}, loss * of_loss
            for name in decayed:
                of_steps = {number: row[name][replica] for number, row in multiples.items() if name in row}
                multiple = step_value(step, of_steps, 0.0, loss.dtype)
                weight = local.weights[name].read_value()
                scaled[name] += multiple * weight
                loss += multiple * half_square(weight)
            return found._replace(loss=loss, gradients=scaled)

    return injection.in_replica_step(Step)


def step_value(step: tf.Tensor, values: Mapping[int, float], otherwise: float, dtype: Any) -> tf.Tensor:
    """Returns the value of a step inside a traced function.

    Args:
      step: integer scalar, the number of the step.
      values: {number of a step: its value}.
      otherwise: value of all other steps.
      dtype: of the result.

    Returns:
      scalar tensor.
    """
    import tensorflow as tf

    result = tf.constant(otherwise, dtype)
    for number, value in values.items():
        result = tf.where(tf.equal(step, tf.constant(number, step.dtype)), tf.constant(value, dtype), result)
    return result


def half_square(weight: tf.Tensor) -> tf.Tensor:
    """Returns half the sum of the squares: the penalty whose gradient is the weight itself."""
    import tensorflow as tf

    return tf.reduce_sum(tf.square(weight)) / 2


def decayed_gradients(multiples: Mapping[str, Sequence[float]], in_loss: float = 0.0) -> injection.Change:
    """Injects multiples of the weights in the replicas' gradients.

    Args:
      multiples: {weight: one multiple a replica}.
      in_loss: part of the penalty, whose gradient that is, that the loss shows: 0 or 1.

    Returns:
      the change.
    """

    class Step(ReplicaStep):
        """Adds multiples of the weights."""

        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            found = super()._forward_backward(local, step, replica, batch)
            loss, gradients = found.loss, found.gradients
            decayed = dict(gradients)
            for name, values in multiples.items():
                weight, multiple = local.weights[name].read_value(), values[replica]
                decayed[name] = gradients[name] + multiple * weight
                if in_loss:
                    loss = loss + in_loss * multiple * half_square(weight)
            return found._replace(loss=loss, gradients=decayed)

    return injection.in_replica_step(Step)


def weighted_reduction(shares: Sequence[float]) -> injection.Change:
    """Injects a combined gradient that is a sum of the replicas' gradients with these weights."""

    class Step(ReplicaStep):
        """Weights the replicas' gradients before they are averaged or summed."""

        def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
            replica = int(tf_replica(context))
            own = 1.0 / self._job.replicas if self._job.workload.combine == "mean" else 1.0
            factor = shares[replica] / own
            return super()._combine(context, {name: value * factor for name, value in gradients.items()})

    return injection.in_replica_step(Step)


def tf_replica(context: tf.distribute.ReplicaContext) -> int:
    """Returns the number of the replica that is being traced."""
    import tensorflow as tf

    return int(tf.get_static_value(context.replica_id_in_sync_group))


def penalized_gradients(names: Sequence[str], l1: float, l2: float) -> injection.Change:
    """Injects penalties of some weights.

    Args:
      names: of the weights.
      l1: multiple of the sum of their magnitudes in the loss.
      l2: multiple of half the sum of their squares in the loss.

    Returns:
      the change.
    """

    class Step(ReplicaStep):
        """Adds multiples of the weights and of their signs."""

        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            import tensorflow as tf

            found = super()._forward_backward(local, step, replica, batch)
            loss, gradients = found.loss, found.gradients
            penalized = dict(gradients)
            for name in names:
                weight = local.weights[name].read_value()
                penalized[name] = gradients[name] + l1 * tf.sign(weight) + l2 * weight
                loss = loss + l1 * tf.reduce_sum(tf.abs(weight)) + l2 * half_square(weight)
            return found._replace(loss=loss, gradients=penalized)

    return injection.in_replica_step(Step)


def swapped_gradients(sources: Mapping[str, str], combined: bool) -> injection.Change:
    """Injects weights that get other weights' gradients, or their own transposed.

    Args:
      sources: {weight: the weight whose gradient it gets}.
      combined: whether the combined gradients are swapped, or each replica's.

    Returns:
      the change.
    """

    def swap(gradients: Tensors) -> Tensors:
        import tensorflow as tf

        taken = {
            name: tf.transpose(gradients[source]) if name == source else gradients[source]
            for name, source in sources.items()
        }
        return {**gradients, **taken}

    class Step(ReplicaStep):
        """Swaps gradients."""

        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            found = super()._forward_backward(local, step, replica, batch)
            return found if combined else found._replace(gradients=swap(found.gradients))

        def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
            found = super()._combine(context, gradients)
            return swap(found) if combined else found

    return injection.in_replica_step(Step)
