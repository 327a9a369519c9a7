"""A written port with another value of a number of its update, such as the limit of a clipping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from modern.double.programs import ObservedStep, Rewritten
from modern.double.step_function import Step, rewritten_step
from modern.lifted.program import LiftedProgram
from modern.mirrored.step.step_tensors import Tensors
from modern.options import ModernOptions
from workloads.job import Job
from workloads.lifted.graph import Graph
from workloads.sources import Source


class OtherBoundProgram(Rewritten, LiftedProgram):
    """The port of a lift, whose whole step is written, with another value of a number of its update.

    Args:
      job: see `LiftedProgram`.
      source: see there.
      options: see there.
      devices: see there.
      own: the number that the port has.
      other: the number that takes its place; where the port has it in its losses too, it stays there.
    """

    def __init__(
        self, job: Job, source: Source, options: ModernOptions, devices: Sequence[str], own: float, other: float
    ) -> None:
        super().__init__(job, source, options, devices)
        self._own, self._other = own, other

    def _observed_step(self) -> list[ObservedStep]:
        return [self._with_other_bound(step) for step in self._steps]

    def _with_other_bound(self, step: Step) -> ObservedStep:
        def run(batch: Tensors) -> Any:
            return self.strategy.run(step, (batch,))

        def rewrite(traced: Any) -> Any:
            results = traced.structured_outputs
            towers = tf.nest.flatten((results.losses, results.gradients), expand_composites=True)
            graph_def = traced.graph.as_graph_def()
            replace_numbers(graph_def, [tensor.op.name for tensor in towers], self._own, self._other)
            return graph_def

        subject = "the port with another bound"
        return self._rewritten_by(lambda batch: rewritten_step(run, batch, rewrite, lambda tensor: tensor, subject))


def replace_numbers(graph_def: Any, before: Sequence[str], own: float, other: float) -> None:
    """Replaces a number by another in all constants of a graph that nothing in `before` depends on.

    Args:
      graph_def: the graph, which is changed.
      before: nodes.
      own: the number; a constant of whole numbers has it if both numbers are whole.
      other: the new one.
    """
    kept = Graph(graph_def).ancestors(before, controls=False)
    for node in graph_def.node:
        value = tf.make_ndarray(node.attr["value"].tensor) if node.op == "Const" and node.name not in kept else None
        if value is None or value.size != 1 or value.dtype.kind not in "fiu":
            continue
        numbers = [np.asarray(number, value.dtype) for number in (own, other)]
        is_exact = value.dtype.kind == "f" or all(float(n) == g for n, g in zip(numbers, (own, other)))
        if is_exact and value.item() == numbers[0].item():
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(numbers[1], value.dtype, value.shape))
