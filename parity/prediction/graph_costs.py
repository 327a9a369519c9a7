"""Work of the ops of a graph, as TensorFlow's own cost model counts it: Grappler's on a virtual device.

Grappler prices an op on a device of given speed. On a virtual one that computes 1,000 operations and moves 1,000 bytes
in a millisecond, the price in microseconds is the number of operations, and that of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from parity.prediction.work import Work

#: Nanoseconds in which the virtual device does one operation, and in which it moves one byte.
_UNIT = 1000

#: Collection that names an item's results.
_TRAIN_OP = "train_op"


def work_of_ops(graph_def: tf.compat.v1.GraphDef, results: Sequence[str]) -> dict[str, Work]:
    """Returns {op's name: its work} of the ops that some results need.

    Shapes that are not known before the graph runs count as one element in each unknown dimension. Ops that the cost
    model does not know move their inputs and outputs and compute nothing.

    Args:
      graph_def: the graph; devices in it are not used.
      results: names of the ops whose values are wanted.

    Returns:
      {name: work}.
    """
    from tensorflow.python.grappler import item as grappler_item

    meta_graph = tf.compat.v1.MetaGraphDef()
    meta_graph.graph_def.CopyFrom(graph_def)
    for node in meta_graph.graph_def.node:
        node.device = ""
    meta_graph.collection_def[_TRAIN_OP].node_list.value.extend(results)
    item = grappler_item.Item(meta_graph, ignore_colocation=True)
    costs, _, _ = _virtual_cluster().MeasureCosts(item)
    return {cost.node: Work(cost.compute_time / _UNIT, cost.memory_time / _UNIT) for cost in costs}


def _virtual_cluster() -> Any:
    """A cluster of one virtual CPU of 1 MHz (a million operations a second) and 1,000 kB/s."""
    from tensorflow.core.protobuf import device_properties_pb2
    from tensorflow.python.grappler import cluster

    properties = device_properties_pb2.DeviceProperties(type="CPU", frequency=1, num_cores=1, bandwidth=1000)
    device = device_properties_pb2.NamedDevice(name="/job:localhost/replica:0/task:0/cpu:0", properties=properties)
    return cluster.Cluster(devices=[device])
