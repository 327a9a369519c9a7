"""Machines to predict for: processors, the links between them, and how fast each kind of op uses a processor."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Optional

from parity.profiling.op_kinds import PRODUCTS

#: Key of `Processor.efficiency` for kinds of op without a number of their own.
OTHER_KINDS = "other kinds"

#: Key of `Processor.flops` for products of float32 numbers on tensor cores.
TF32 = "tf32"

#: Ways in which two accelerators of a machine reach each other.
THROUGH_HOST, PCIE, DIRECT = TOPOLOGIES = ("through host", "pcie", "direct")

#: Operations of kernels that are too small to fill an accelerator, and of those that fill it; see `Efficiency.large`.
#: They are those of the small and the large product in DeepBench's table (see `built_in`).
SMALL, LARGE = 2.6e9, 2.4e11


@dataclasses.dataclass(frozen=True)
class Efficiency:
    """Share of a processor's peaks that the kernels of one kind of op reach.

    Attributes:
      compute: of the peak rate of arithmetic, above 0.
      memory: of the memory's bandwidth, above 0. Above 1 where operands come from a cache.
      large: of the peak rate for kernels of `LARGE` operations and more; between `SMALL` and `LARGE` the share grows
        with the logarithm of their number. None: `compute` at any size.
      speedup: speed of a kernel on all of a processor's lanes over that on one of them. None: the number of lanes.
      setup: seconds of a kernel besides, whatever its work.
    """

    compute: float = 1.0
    memory: float = 1.0
    large: Optional[float] = None
    speedup: Optional[float] = None
    setup: float = 0.0

    def compute_at(self, flops: float) -> float:
        """Returns the share of the peak rate for a kernel of a number of operations."""
        if self.large is None or flops <= SMALL:
            return self.compute
        grown = min(1.0, math.log(flops / SMALL) / math.log(LARGE / SMALL))
        return self.compute + grown * (self.large - self.compute)


@dataclasses.dataclass(frozen=True)
class Processor:
    """A processor that runs kernels: an accelerator, or the CPU of the host.

    Attributes:
      name: such as "GTX 1060".
      flops: {dtype: peak rate in floating-point operations a second, of all lanes together}.
      bandwidth: of its memory, bytes a second.
      memory: bytes.
      launch: least time of an op that computes, seconds: an accelerator's kernel launch, a CPU's dispatch of an op.
      hand_on: seconds of an op that only returns its input, such as a reshape.
      lanes: number of kernels that can run side by side, each on its part of the processor: 1 for an accelerator, the
        number of cores for a CPU.
      efficiency: {type of op, kind of op, or `OTHER_KINDS`: `Efficiency`}.
    """

    name: str
    flops: Mapping[str, float]
    bandwidth: float
    memory: float
    launch: float
    hand_on: float = 0.0
    lanes: int = 1
    efficiency: Mapping[str, Efficiency] = dataclasses.field(default_factory=dict)

    def efficiency_of(self, op: str, kind: str) -> Efficiency:
        """Returns the efficiency of a type of op, or else of its kind; see `parity.profiling.op_kinds`."""
        known = self.efficiency
        return known.get(op) or known.get(kind) or known.get(OTHER_KINDS) or Efficiency()

    def peak(self, dtype: str, kind: str) -> float:
        """Returns the peak rate of a kind of op for a dtype: float32's where it has no number of its own.

        TensorFlow computes products in float32 as `TF32` where the accelerator has it.
        """
        if dtype == "float32" and kind == PRODUCTS and TF32 in self.flops:
            return self.flops[TF32]
        return self.flops.get(dtype) or self.flops["float32"]


@dataclasses.dataclass(frozen=True)
class Link:
    """A connection in one direction; both directions work at the same time.

    Attributes:
      name: such as "PCIe 3.0 x8".
      bandwidth: bytes a second that a large copy reaches.
      latency: seconds before the first byte arrives.
    """

    name: str
    bandwidth: float
    latency: float

    def seconds(self, size: float) -> float:
        """Returns the seconds that a copy of `size` bytes takes."""
        return self.latency + size / self.bandwidth


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine, or several equal ones in a network.

    Attributes:
      name: such as "gtx1060x2".
      device: the accelerators, all equal. None: replicas are logical devices of the host, which share its cores.
      count: number of accelerators in one machine; of logical devices, at most so many replicas.
      host: the host's CPU.
      host_link: between the host's memory and one accelerator.
      peer_link: between two accelerators that reach each other directly; None if copies go through the host's memory.
      ring_link: the rate at which each accelerator sends in an all-reduce over all of them; None for `peer_link`, or
        without that half of `host_link`'s rate, as each part crosses the host's connections twice.
      topology: one of `TOPOLOGIES`: "through host"; "pcie": copies between accelerators go over the connections that
        lead to the host, without stopping in its memory; "direct": over connections of their own, such as NVLink.
      call: seconds of a `session.run` that computes next to nothing.
      function_call: the same of a `tf.function` that loops over steps.
      capture: seconds more for each variable that the function reads or updates.
      loop: seconds of one turn of that loop.
      further_device: seconds more of a call, and of a turn of the loop, for each device of the step after the first, as
        measured for logical devices of a CPU: the executor of each is started, and waited for.
      feed: seconds of Python for each tensor that a session is fed, besides the copy.
      network: between machines; None if there is one machine.
      sources: where the numbers come from.
    """

    name: str
    device: Optional[Processor]
    count: int
    host: Processor
    host_link: Link
    peer_link: Optional[Link] = None
    ring_link: Optional[Link] = None
    topology: str = THROUGH_HOST
    call: float = 0.0
    function_call: float = 0.0
    capture: float = 0.0
    loop: float = 0.0
    further_device: float = 0.0
    feed: float = 0.0
    network: Optional[Link] = None
    sources: tuple[str, ...] = ()

    @property
    def is_host_only(self) -> bool:
        """Whether replicas run on logical devices of the host's CPU."""
        return self.device is None

    @property
    def collective_link(self) -> Link:
        """The link of an accelerator in an all-reduce."""
        if self.ring_link or self.peer_link:
            return self.ring_link or self.peer_link  # type: ignore[return-value]
        half = self.host_link.bandwidth / 2
        return Link(f"{self.host_link.name} through the host", half, 2 * self.host_link.latency)

    def to_json(self) -> dict[str, Any]:
        """Returns the machine in the form that `machine_file` reads."""
        return dataclasses.asdict(self)
