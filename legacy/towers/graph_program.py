"""`GraphProgram`: the base of the programs that run one graph in a session, whose tensors can be replaced."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from workloads.numerics.half_precision import coarsest_half
from workloads.program import Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import tensorflow as tf

    from workloads.program import StepRecord


class GraphProgram(Program):
    """Base of the programs on the legacy side: a graph, a session, and tensors whose values can be replaced.

    Attributes:
      graph: the `tf.Graph`.
      holds_results: whether it can take steps with given results of the towers.
    """

    graph: tf.Graph
    holds_results: bool = False
    _session: Any
    _replaced: Mapping[str, np.ndarray] = {}

    def half_precision(self) -> str:
        outputs = (tensor for op in self.graph.get_operations() for tensor in op.outputs)
        return coarsest_half(tensor.dtype.base_dtype.name for tensor in outputs)

    def replace_tensors(self, values: Mapping[str, np.ndarray]) -> None:
        """Feeds these values, {tensor name: value}, to every step from now on, in place of the graph's own."""
        self._replaced = dict(values)

    @abc.abstractmethod
    def tower_tensors(self) -> List[str]:
        """Returns the names of the tensors in which the towers' own part of a step ends: losses and gradients."""

    def result_tensors(self) -> List[str]:
        """Returns the names of the tensors by which the towers' results reach what else a step does."""
        return self.tower_tensors()

    def tower_results(self) -> Any:
        """Returns what the towers compute in the next step, for `hold_results`; None if they cannot run alone."""
        return None

    def hold_results(self, results: Any) -> None:
        """Takes steps with these results of the towers, which do not run; with their own again if given None.

        Args:
          results: as `tower_results` returns them.
        """

    @abc.abstractmethod
    def rate_tensors(self) -> List[str]:
        """Returns the names of the learning rates."""

    @abc.abstractmethod
    def train_nodes(self) -> List[str]:
        """Returns the names of the ops that the steps run."""

    def given_tensors(self) -> List[str]:
        """Returns the names of tensors that each step is fed, so that the ops upstream of them do not run."""
        return []

    def step_with(self, names: List[str]) -> Tuple[StepRecord, Dict[str, np.ndarray]]:
        """Takes a step, and reads tensors in it.

        Args:
          names: of tensors outside of loops and branches.

        Returns:
          The step, and {name: value} of those tensors that it computes; of none where it takes several runs.
        """
        return self.step(), {}

    @abc.abstractmethod
    def run_traced(self, options: tf.compat.v1.RunOptions, metadata: tf.compat.v1.RunMetadata) -> None:
        """Takes a step under `RunOptions` that fill `RunMetadata`."""

    def evaluate_without_data(self, names: List[str]) -> List[np.ndarray]:
        """Returns tensors that depend on no batch, from the current state and with the replaced tensors."""
        return list(self._session.run(names, dict(self._replaced)))

    def _with_replaced(self, feed: Mapping[Any, Any]) -> Dict[Any, Any]:
        """Returns a step's feed with the replaced tensors."""
        return {**feed, **self._replaced}
