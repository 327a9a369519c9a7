"""Work of an op, and the seconds that a processor takes for it: the roofline model."""

from __future__ import annotations

import re
from typing import NamedTuple

from parity.prediction.machines.machine import Processor
from parity.profiling.op_kinds import kind_of_op

#: Ops that Grappler takes out of the graph before the first step.
_PRUNED = re.compile(r"IdentityN?|NoOp|StopGradient|PreventGradient|Snapshot")

#: Ops that compute and copy nothing: they return their input. An accelerator launches no kernel for them.
_FREE = re.compile(
    r"Const|Feed|Reshape|Squeeze|ExpandDims|VarHandleOp|Variable(V2)?|ReadVariableOp|Shape(N)?|Rank|Size"
    r"|Placeholder\w*|_Arg|_Retval|(Ref)?(Switch|Merge|Enter|Exit|NextIteration)|LoopCond"
    r"|ControlTrigger|BroadcastGradientArgs|InvertPermutation|CheckNumerics|Assert"
)

#: Seconds of one lane's work for which a CPU kernel asks for another lane: the 100,000 cycles of Eigen's cost model
#: (`kPerThreadCycles` in unsupported/Eigen/CXX11/src/Tensor/TensorCostModel.h) at 3 GHz.
GRAIN = 33e-6

#: Gain of a further lane, over that of one that computes as much as the first, below which others may use it meanwhile.
LEAST_GAIN = 0.5


class Work(NamedTuple):
    """Computation and memory traffic of an op.

    Attributes:
      flops: floating-point operations.
      size: bytes that it reads and writes.
    """

    flops: float = 0.0
    size: float = 0.0


def seconds_of(op: str, work: Work, dtype: str, processor: Processor) -> tuple[float, ...]:
    """Prices an op: the seconds that it takes on 1, 2, ... lanes of a processor.

    The longer one of its arithmetic and its memory traffic, at the efficiency of its kind of op; at least the launch.
    An accelerator queues kernels while it computes, so that a launch is hidden behind a longer kernel; a CPU's thread
    dispatches an op before it computes it, so that the two add up.

    Args:
      op: the op's type.
      work: the operations that it computes, and the bytes that it moves.
      dtype: of its result.
      processor: where it runs.

    Returns:
      the seconds for each number of lanes that is of use.
    """
    if _PRUNED.fullmatch(op):
        return (0.0,)
    if _FREE.fullmatch(op):
        return (processor.hand_on,)
    kind = kind_of_op(op)
    efficiency = processor.efficiency_of(op, kind)
    arithmetic = work.flops / (processor.peak(dtype, kind) * efficiency.compute_at(work.flops))
    traffic = work.size / (processor.bandwidth * efficiency.memory)
    if processor.lanes == 1:
        return (max(arithmetic, traffic, processor.launch) + efficiency.setup,)
    before = processor.launch + efficiency.setup
    one = max(arithmetic, traffic) * processor.lanes  # on one lane, the others being busy as well
    most = min(processor.lanes, max(1, int(one / GRAIN)))
    speedup = efficiency.speedup or processor.lanes
    gain = (speedup - 1) / (processor.lanes - 1)  # of each further lane
    if gain < LEAST_GAIN:
        return (before + one / speedup,)
    return tuple(before + one / (1 + gain * more) for more in range(most))
