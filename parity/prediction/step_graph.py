"""Graph of one training step: its ops with their work, the devices they run on, and the tensors they hand on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from parity.prediction.work import Work

#: The host among a machine's devices.
HOST = "CPU:0"

#: Type of the op that stands for feeding a placeholder; the size of its work is the tensor's.
FEED = "Feed"


class Edge(NamedTuple):
    """A tensor that an op reads.

    Attributes:
      tensor: its name, such as "tower_0/MatMul:0". Two ops of one device that read it share one copy.
      node: name of the op that makes it.
      size: bytes.
    """

    tensor: str
    node: str
    size: float


@dataclasses.dataclass(frozen=True)
class StepNode:
    """One op of a step.

    Attributes:
      name: of the op.
      op: its type, such as "MatMul".
      device: such as "GPU:1", or "CPU:0" for the host.
      dtype: of its first result.
      work: the operations that it computes, and the bytes that it moves.
      inputs: the tensors that it reads.
      controls: names of ops that it waits for and reads nothing of.
      group: for a collective, the name that its members on all devices share; "" for any other op.
    """

    name: str
    op: str
    device: str
    dtype: str = "float32"
    work: Work = Work()
    inputs: tuple[Edge, ...] = ()
    controls: tuple[str, ...] = ()
    group: str = ""


class Crossing(NamedTuple):
    """A tensor that is copied from one device to another.

    Attributes:
      tensor: its name.
      node: name of the op that makes it.
      size: bytes.
      start: the device that has it.
      end: the device that needs it.
    """

    tensor: str
    node: str
    size: float
    start: str
    end: str


@dataclasses.dataclass(frozen=True)
class StepGraph:
    """The ops of one step, each after those that it needs.

    Attributes:
      side: "legacy" or "modern".
      nodes: the ops, in an order in which they can run.
      replicas: number of towers or replicas.
      examples: number of examples in a step.
      parameters: bytes of the weights.
      calls: calls of the port's function for a step; less than 1 where one call takes several.
      captures: variables that the function reads or updates.
    """

    side: str
    nodes: Sequence[StepNode]
    replicas: int
    examples: int
    parameters: float = 0.0
    calls: float = 1.0
    captures: int = 0

    def fed(self) -> Iterator[float]:
        """Yields the bytes of each tensor that the step is fed."""
        for node in self.nodes:
            if node.op == FEED:
                yield node.work.size

    def crossings(self) -> Iterator[Crossing]:
        """Yields the tensors that are copied between devices, each once for each device that needs it."""
        devices = {node.name: node.device for node in self.nodes}
        seen: set[tuple[str, str]] = set()
        for node in self.nodes:
            for edge in node.inputs:
                start = devices.get(edge.node, node.device)
                if start != node.device and (edge.tensor, node.device) not in seen:
                    seen.add((edge.tensor, node.device))
                    yield Crossing(edge.tensor, edge.node, edge.size, start, node.device)
