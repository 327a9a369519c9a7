"""Updates that read gradients of earlier steps: which of them, and a port whose updates do."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from parity.causes.basics import injection

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState, MirroredState
    from modern.mirrored.step.step_tensors import Tensors

#: What counts for gradients of steps before the first: zeros; the oldest gradient; or the mean is of fewer gradients.
ZEROS, OLDEST, FEWER = "zeros", "oldest", "fewer"

STARTS = (ZEROS, OLDEST, FEWER)


class Reading(NamedTuple):
    """Gradients that an update reads: the mean of those of `steps` steps, the last of them `lag` steps before."""

    lag: int
    steps: int

    @property
    def words(self) -> str:
        """The gradients in words."""
        if self.steps > 1:
            return f"the mean of the gradients of the last {self.steps} steps"
        return "the gradient of the step before" if self.lag == 1 else f"the gradient of {self.lag} steps before"

    @property
    def needed(self) -> int:
        """Number of steps before a step whose gradients it reads."""
        return self.lag + self.steps - 1

    def of_first_steps(self, known: int, start: str) -> list[tuple[int, float]]:
        """Returns the gradients that an update reads, as (steps before it, weight), after `known` steps.

        Args:
          known: number of steps before it.
          start: one of `STARTS`, for those that there are not.

        >>> Reading(1, 1).of_first_steps(0, ZEROS), Reading(0, 2).of_first_steps(0, OLDEST)
        ([], [(0, 0.5), (0, 0.5)])
        """
        read = [self.lag + back for back in range(self.steps)]
        if start == OLDEST:
            return [(min(back, known), 1 / self.steps) for back in read]
        there = [back for back in read if back <= known]
        return [(back, 1 / (len(there) if start == FEWER else self.steps)) for back in there]


class _EarlierGradients(injection.WrappedRules):
    """Updates with gradients of earlier steps, which it keeps beside each replica's weights.

    Args:
      rules: the rules to wrap.
      reading: which gradients.
      start: one of `STARTS`.
    """

    def __init__(self, rules: UpdateRules, reading: Reading, start: str) -> None:
        super().__init__(rules)
        self._reading, self._start = reading, start

    def prepare(self, variables: MirroredState, replicas: int) -> None:
        """Makes variables: each replica's kept gradients, the newest first; their number; the step of the newest."""
        import tensorflow as tf

        self._kept: list[list[dict[str, tf.Variable]]] = []
        self._known: list[tf.Variable] = []
        self._newest: list[tf.Variable] = []
        for replica in range(replicas):
            weights = variables.local(replica).weights
            with tf.device(next(iter(weights.values())).device):
                self._kept.append(
                    [{name: tf.Variable(tf.zeros_like(w)) for name, w in weights.items()} for _ in range(self._most)]
                )
                self._known.append(tf.Variable(0, dtype=tf.int64))
                self._newest.append(tf.Variable(-1, dtype=tf.int64))

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        replica = local.replica
        kept, known, newest = self._kept[replica], self._known[replica], self._newest[replica]
        step = tf.cast(local.step.read_value(), tf.int64)
        # A program that goes on from another step has no steps before it.
        there = tf.where(tf.equal(step, newest.read_value() + 1), known.read_value(), tf.zeros_like(step))
        newest.assign(step)
        known.assign(tf.minimum(there + 1, self._most))
        read = {}
        for name, value in gradients.items():
            rows = [value, *(row[name].read_value() for row in kept)]
            read[name] = self._mean(rows, there)
            for row, newer in zip(kept, rows):
                row[name].assign(newer)
        self._rules.apply(local, read, rate)

    @property
    def _most(self) -> int:
        return self._reading.needed

    def _mean(self, rows: Sequence[tf.Tensor], there: tf.Tensor) -> tf.Tensor:
        """The read gradient of a weight after `there` steps, from its kept gradients, the newest first."""
        import tensorflow as tf

        cases = []
        for known in range(self._most + 1):
            terms = [share * rows[back] for back, share in self._reading.of_first_steps(known, self._start)]
            cases.append(functools.reduce(lambda one, other: one + other, terms, tf.zeros_like(rows[0])))
        return tf.gather(tf.stack(cases), there)


def earlier_gradients(reading: Reading, start: str) -> injection.Change:
    """Makes the change of a port whose updates read gradients of earlier steps.

    Args:
      reading: which of them.
      start: one of `STARTS`, for those of steps before the first.

    Returns:
      the change.
    """
    return injection.in_update_rules(lambda rules: _EarlierGradients(rules, reading, start))
