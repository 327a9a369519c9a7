"""`RecordedSource`: batches and random numbers of a recorded original run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name, tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.noise import noise_input
from workloads.lifted.plan import TensorType
from workloads.lifted.shapes import common_shape, fits
from workloads.lifted.workload import as_lifted
from workloads.sources import Source
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.rerun.recording import RecordedSteps
    from workloads.job import Job
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan
    from workloads.lifted.workload import LiftedWorkload
    from workloads.program import Arrays

v1 = tf.compat.v1


class RecordedSource(Source):
    """Batches that the towers of a recorded run got, and the random numbers that they drew.

    After the recorded steps it repeats the last one, since pipelines read ahead.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      steps: the recording.
    """

    noise = "drawn"

    def __init__(self, job: Job, steps: RecordedSteps) -> None:
        super().__init__(job)
        workload = as_lifted(job.workload)
        self._plan, self._steps = workload.plan, steps
        self._upstream = _Upstream(workload, steps)

    def shards(self, step: int) -> list[Arrays]:
        step = min(step, len(self._steps) - 1)
        tensors = self._upstream.values(step)
        shards: List[Arrays] = [{} for _ in range(self._job.replicas)]
        for tower, shard in enumerate(shards):
            for entry in self._plan.inputs + self._plan.common:
                tensor = entry.tensors[tower] if len(entry.tensors) > 1 else entry.tensors[0]
                shard[entry.name] = np.asarray(_fitting(tensors[tensor], tensor, entry.shape), entry.dtype)
            for noise in self._plan.noise + self._plan.common_noise:
                node = noise.nodes[tower] if len(noise.nodes) > 1 else noise.nodes[0]
                node = node or next(filter(None, noise.nodes), None)  # of towers that differ: all batches are alike
                for output, value in enumerate(self._outputs(step, node) if node else []):
                    shard[noise_input(noise.name, output)] = value
        return shards

    def shapes(self) -> dict[str, tuple[Optional[int], ...]]:
        """Returns {input name: shape}; batches padded to their longest example have other sizes in other steps."""
        found = super().shapes()
        for step in range(len(self._steps)):
            for shard in self.shards(step):
                for name, value in shard.items():
                    found[name] = common_shape(found.get(name, np.shape(value)), np.shape(value))
        return found

    def _outputs(self, step: int, node: str) -> List[np.ndarray]:
        """Returns the recorded outputs of a node, from the first on without a gap."""
        values: List[np.ndarray] = []
        while True:
            value = self._steps.input(step, tensor_name(node, len(values)))
            if value is None:
                return values
            values.append(value)


def _fitting(value: np.ndarray, name: str, shape: Sequence[Optional[int]] | None) -> np.ndarray:
    """Returns a recorded value, or raises `InputError` if it has another shape than the graph gives it."""
    if not fits(value.shape, shape):
        raise InputError(f"--recording: {name!r} is recorded with the shape {list(value.shape)}, expected {shape}")
    return value


class _Upstream:
    """Computes the tensors that entered the towers from those that were recorded at the data sources.

    Args:
      workload: the lifted workload.
      steps: the recording.
    """

    def __init__(self, workload: LiftedWorkload, steps: RecordedSteps) -> None:
        plan = workload.plan
        self._steps = steps
        self._plan = plan
        wanted = sorted({tensor for entry in plan.inputs + plan.common for tensor in entry.tensors})
        self._origins = {tensor_name(name, 0): origin for name, origin in plan.sources.items()}
        self._direct = [tensor for tensor in wanted if tensor in self._origins]
        self._computed = [tensor for tensor in wanted if tensor not in self._origins]
        self._graph = tf.Graph()
        if self._computed:
            random = {n: "drawn" for n in workload.graph.nodes if op_types.is_random(workload.graph.type(n))}
            cutter = workload.cutter(random)
            cutter = cutter.with_signature(lambda tensor: _tensor_type(workload.graph, plan, tensor))
            self._piece = cutter.piece(self._computed, list(self._origins))
            with self._graph.as_default():
                self._fetches = import_graph(self._piece.graph_def, fetches=self._piece.fetches)

    def values(self, step: int) -> Dict[str, np.ndarray]:
        """Returns {tensor: value} of all that entered in a step."""
        values = {tensor: self._recorded(step, self._origins[tensor]) for tensor in self._direct}
        if self._computed:
            given = {}
            for feed in self._piece.feeds:
                name = self._origins.get(str(feed.key), str(feed.key))
                holder = self._graph.get_tensor_by_name(feed.placeholder + ":0")
                shape = None if holder.shape.rank is None else holder.shape.as_list()
                given[holder] = _fitting(self._recorded(step, name), name, shape)
            with v1.Session(graph=self._graph) as session:
                values.update(zip(self._computed, session.run(self._fetches, given)))
        return values

    def _recorded(self, step: int, name: str) -> np.ndarray:
        value = self._steps.input(step, name)
        if value is None:
            raise InputError(f"--recording: step {step} does not hold {name!r}, which this lift's data come from")
        return value


def _tensor_type(graph: Graph, plan: Plan, tensor: str) -> TensorType:
    """Returns a tensor's type: the plan's, or the dtype alone, from its node's attributes."""
    if tensor in plan.tensors:
        return plan.tensors[tensor]
    node = graph.nodes[parse_tensor_name(tensor).node]
    dtype = node.attr["dtype"].type or node.attr["Tout"].type
    return TensorType(tf.as_dtype(dtype).name, None)
