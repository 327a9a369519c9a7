"""The all-reduces by name: how each is made and what it needs, as one table that needs no TensorFlow.

To add one, add a row (and, if TensorFlow does not have it, its class in `modern.collectives.all_reduce`).
"""

from __future__ import annotations

from typing import NamedTuple

#: Value of `AllReduce.in_process` for the choice of the strategy itself.
STRATEGYS_OWN = "strategy's own"


class AllReduce(NamedTuple):
    """One way in which replicas combine their gradients.

    Attributes:
      name: value of `--all_reduce`.
      in_process: class of the `tf.distribute.CrossDeviceOps` between replicas of one process, in `tf.distribute` or in
        `modern.collectives.all_reduce`; `STRATEGYS_OWN` leaves it to the strategy; "" if it is not for one process.
      between_workers: the `CommunicationImplementation` between processes; "" if it is not between processes.
      in_order: whether replicas are added in their order, which gives the towers' bits.
      gpus: number of physical GPUs that it needs.
      even: whether the number of replicas must be even.
    """

    name: str
    in_process: str
    between_workers: str
    in_order: bool = False
    gpus: int = 0
    even: bool = False


ALL_REDUCES = {
    row.name: row
    for row in (
        AllReduce("auto", STRATEGYS_OWN, "AUTO"),
        AllReduce("ring", "", "RING"),
        AllReduce("nccl", "NcclAllReduce", "NCCL", gpus=2),
        AllReduce("hierarchical_copy", "HierarchicalCopyAllReduce", "", even=True),
        AllReduce("one_device", "ReductionToOneDevice", ""),
        # Between workers it gathers by TensorFlow's choice and adds in each process.
        AllReduce("tower_order", "TowerOrder", "AUTO", in_order=True),
    )
}
