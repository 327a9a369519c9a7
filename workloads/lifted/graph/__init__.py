"""Graphs of old programs, as GraphDefs: their index, checks of those from anywhere, import into TensorFlow.

Here: what holds of any GraphDef. Not here: towers and training steps, which `legacy.saved` recognises in them.
Start with `graph.py`."""

from workloads.lifted.graph.control_flow import CONTROL_FLOW, ENTERS, EXITS, MERGES, SWITCHES, TWO_WAY_SWITCHES
from workloads.lifted.graph.devices import Device, device_of
from workloads.lifted.graph.graph import Graph, Use, made_dense
from workloads.lifted.graph.tensor_names import TensorId, forget_placement, input_text, parse_tensor_name, tensor_name

__all__ = [
    "CONTROL_FLOW",
    "ENTERS",
    "EXITS",
    "MERGES",
    "SWITCHES",
    "TWO_WAY_SWITCHES",
    "Device",
    "Graph",
    "TensorId",
    "Use",
    "device_of",
    "forget_placement",
    "input_text",
    "made_dense",
    "parse_tensor_name",
    "tensor_name",
]
