"""`Frame`: answers a model's requests for variables and noise, and collects what one pass through the model reports.

One pass is one tower's or one replica's. The tower graph's frame answers with `get_variable`, the port's with the
replica's copy of a mirrored variable, and that of `workloads.tracing` with placeholders.
"""

from __future__ import annotations

import abc
import collections
import copy
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Tuple

import tensorflow as tf

from workloads.numerics import random_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workloads.initializers import Initializer

#: {name: tensor}; the names are a model's, or an input's.
Tensors = Dict[str, Any]


class NoiseSpec(NamedTuple):
    """The noise that a model draws under one name.

    Attributes:
      shape: of the numbers; None where it is known only when the model runs.
      kind: one of `NOISE_OPS`, or `CATEGORICAL`.
      in_loop: whether it is drawn anew in each iteration of a loop.
      is_common: whether it is drawn once for all replicas.
    """

    shape: Optional[Tuple[int, ...]]
    kind: str = "uniform"
    in_loop: bool = False
    is_common: bool = False

    @staticmethod
    def of(shape: Any, kind: str, turn: Optional[tf.Tensor], replica: int) -> NoiseSpec:
        """Describes noise.

        Args:
          shape, kind, turn: see `Frame.noise`.
          replica: number of the replica that draws, or `COMMON`.

        Returns:
          The description.
        """
        return NoiseSpec(None if tf.is_tensor(shape) else shape, kind, turn is not None, replica == COMMON)


#: {kind of noise: the raw op that draws it}.
NOISE_OPS = {
    "uniform": "StatelessRandomUniform",
    "normal": "StatelessRandomNormal",
    "truncated_normal": "StatelessTruncatedNormal",
    "integers": "StatelessRandomUniformFullInt",
}

#: Stands for the number of a replica where random numbers are drawn once for all.
COMMON = -1

#: Kind of the noise that draws classes.
CATEGORICAL = "categorical"


class Frame(abc.ABC):
    """Collects what one tower's or replica's pass through a model leaves behind; subclasses answer `variable`.

    Args:
      dtype: name of the run's float dtype.
      seed: of the run.
      step: int64 scalar tensor.
      replica: number of the replica, over all processes.
      devices: devices that the model's layers are divided among, or none if it stays on one; see
        `Scope.pipeline_stage`.
      replicas: number of replicas, over all processes.

    Attributes:
      penalties: scalar tensors that the tower adds to the model's loss, in order.
      updates: {statistic name: new value tensor}.
      changes: {statistic name: function from a value to the next one}, of updates that were given as one.
      values_given: {variable name: tensor} that the model got.
      masks: {dropout name: boolean tensor, true where kept}.
      taps: {name: tensor} that is recorded besides, in the order of the forward pass; see `workloads.taps`.
      tap_gradients: {name: gradient of the loss to it}, once the loss was differentiated.
      training: False where the model is evaluated.
      tap_patterns: of the taps that are recorded; none where taps are off.
    """

    training = True
    tap_patterns: Tuple[str, ...] = ()

    def __init__(
        self,
        dtype: str,
        seed: int,
        step: tf.Tensor,
        replica: int,
        devices: Sequence[str] = (),
        replicas: int = 1,
    ) -> None:
        self.dtype = dtype
        self.seed = seed
        self.step = step
        self.replica = replica
        self.devices = tuple(devices)
        self.replicas = replicas
        self.penalties: list[tf.Tensor] = []
        self.updates: Tensors = collections.OrderedDict()
        self.changes: Dict[str, Callable[[tf.Tensor], tf.Tensor]] = {}
        self.values_given: Tensors = {}
        self.masks: Tensors = collections.OrderedDict()
        self.taps: Tensors = collections.OrderedDict()
        self.tap_gradients: Tensors = {}

    def of(self, replica: int) -> Frame:
        """Returns the frame of another replica, with this one's variables: its random numbers are the other's.

        That of `COMMON` draws the same numbers on every replica.
        """
        other = copy.copy(self)
        other.replica = replica
        return other

    @abc.abstractmethod
    def variable(self, name: str, shape: tuple[int, ...], initializer: Initializer, trainable: bool) -> tf.Tensor:
        """Gives the model a variable.

        Args:
          name: with its scopes.
          shape: of the variable.
          initializer: draws the initial value, where the variable is made.
          trainable: False for a statistic.

        Returns:
          the variable's value as a tensor of `shape`; the same tensor each time within one frame.
        """

    def noise(
        self, name: str, shape: tuple[int, ...], kind: str = "uniform", turn: Optional[tf.Tensor] = None
    ) -> tf.Tensor:
        """Draws noise of float32, or of uint32 for integers, keyed by (seed, replica, name) and counted by the step.

        Args:
          name: of the noise, with its scopes.
          shape: of the numbers.
          kind: one of `NOISE_OPS`: uniform in [0, 1), normal with deviation 1, the same redrawn beyond two, or the bits
            of integers.
          turn: int32 scalar, the number of the iteration of the loop that draws; None outside of loops.

        Returns:
          the numbers.
        """
        # The raw op (Philox) draws the same uniform numbers in TensorFlow 1.15 and today, on CPU and GPU.
        dtype = tf.uint32 if kind == "integers" else tf.float32
        return getattr(tf.raw_ops, NOISE_OPS[kind])(shape=shape, seed=self._seed_of_turn(name, turn), dtype=dtype)

    def categorical(self, name: str, logits: tf.Tensor, samples: int, turn: Optional[tf.Tensor] = None) -> tf.Tensor:
        """Draws classes, keyed as `noise`.

        Args:
          name: of the noise, with its scopes.
          logits: [rows, classes], the logarithms of their probabilities, which need not add up to one.
          samples: number of draws in each row.
          turn: see `noise`.

        Returns:
          the classes, int64 [rows, samples].
        """
        seed = self._seed_of_turn(name, turn)
        return tf.raw_ops.StatelessMultinomial(logits=logits, num_samples=samples, seed=seed, output_dtype=tf.int64)

    def _seed_of_turn(self, name: str, turn: Optional[tf.Tensor]) -> tf.Tensor:
        """Returns the seed of the noise of a name in one iteration of a loop; `turn` is None outside of loops."""
        seed = self.noise_seed(name)
        return seed if turn is None else seed + random_keys.KEY_STRIDE * tf.cast(turn, tf.int32)

    def noise_seed(self, name: str) -> tf.Tensor:
        """Returns the seed of the noise of a name, int32 [2], in the first iteration of a loop."""
        drawing = "all" if self.replica == COMMON else self.replica
        key = tf.constant(random_keys.noise_key(self.seed, drawing, name), tf.int32)
        return tf.stack([key, tf.cast(self.step, tf.int32)])
