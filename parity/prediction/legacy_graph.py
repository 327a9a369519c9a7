"""Step graph of the towers: the graph that the session runs, on the devices of a machine."""

from __future__ import annotations

import dataclasses
from typing import cast

import legacy.factory
from legacy.towers.graph_program import GraphProgram
from parity.comparison.setup import Setup
from parity.prediction.graph_reading import read_nodes
from parity.prediction.machines.machine import Machine
from parity.prediction.shapes import parameter_bytes, shapes_source
from parity.prediction.step_graph import HOST, StepGraph, StepNode
from parity.profiling.kernel_events import short_device


def legacy_step_graph(setup: Setup, machine: Machine) -> StepGraph:
    """Builds the towers for a machine's devices and reads their step; no step is run.

    Args:
      setup: the job and the options of the towers.
      machine: its devices are named "GPU:0", "GPU:1", ...; "CPU:0" is its host. Without accelerators: "CPU:0", ...

    Returns:
      the graph of one step.
    """
    with towers_program(setup, machine) as program:
        nodes = read_towers(program)
    return StepGraph("legacy", nodes, setup.job.replicas, setup.job.global_batch, parameter_bytes(setup.job))


def towers_program(setup: Setup, machine: Machine) -> GraphProgram:
    """Builds the towers for a machine's devices, which need not be here: its graph is read, and no step is run."""
    kind = "CPU" if machine.is_host_only else "GPU"
    devices = [f"{kind}:{number}" for number in range(setup.layer_devices or setup.job.replicas)]
    options = dataclasses.replace(setup.legacy, exact=False)
    return cast(GraphProgram, legacy.factory.legacy_program(setup.job, shapes_source(setup), options, devices))


def read_towers(program: GraphProgram) -> list[StepNode]:
    """Reads the ops of a step of the towers; an op without a device is on the first accelerator, or the host."""
    results = [program.graph.get_operation_by_name(program.train_nodes()[0])]
    used = {short_device(op.device) for op in program.graph.get_operations()}
    first = "GPU:0" if any(device.startswith("GPU") for device in used) else HOST
    return read_nodes(program.graph, results, lambda device: device or first)
