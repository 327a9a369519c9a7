"""Sums by other ops than `AddN`: NCCL's all-reduce, and `tf.accumulate_n`.

NCCL has one op on each device, and no edge between them; the ops of one sum have one name in common.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef


def add_up_all_reduced(graph_def: GraphDef) -> None:
    """Makes each op of a sum by NCCL an `AddN` of what all devices give, so that the data flow shows the sum.

    CPUs have no NCCL. A group that is not complete, or that takes a maximum, stays as it is.
    """
    groups: dict[bytes, list[NodeDef]] = collections.defaultdict(list)
    for node in graph_def.node:
        if node.op == "NcclAllReduce" and node.attr["reduction"].s == b"sum":
            groups[node.attr["shared_name"].s].append(node)
    for group in groups.values():
        inputs = [next(name for name in node.input if not name.startswith("^")) for node in group]
        if len(group) != group[0].attr["num_devices"].i:
            continue
        for node in group:
            controls = [name for name in node.input if name.startswith("^")]
            del node.input[:]
            node.input.extend(inputs + controls)
            node.op = "AddN"
            for attribute in ("reduction", "num_devices", "shared_name"):
                del node.attr[attribute]
            node.attr["N"].i = len(inputs)


def add_up_accumulated(graph_def: GraphDef) -> None:
    """Makes each `AccumulateNV2` an `AddN` of the same inputs.

    A session of 1.x rewrites that op, which has no kernel, to additions in whatever order its inputs arrive in.
    """
    for node in graph_def.node:
        if node.op == "AccumulateNV2":
            node.op = "AddN"
            del node.attr["shape"]
