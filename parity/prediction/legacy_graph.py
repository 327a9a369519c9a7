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
from parity.prediction.step_graph import StepGraph


def legacy_step_graph(setup: Setup, machine: Machine) -> StepGraph:
    """Builds the towers for a machine's devices and reads their step; no step is run.

    Args:
      setup: the job and the options of the towers.
      machine: its devices are named "GPU:0", "GPU:1", ...; "CPU:0" is its host. Without accelerators: "CPU:0", ...

    Returns:
      the graph of one step.
    """
    kind = "CPU" if machine.is_host_only else "GPU"
    count = setup.layer_devices or setup.job.replicas
    devices = [f"{kind}:{number}" for number in range(count)]
    options = dataclasses.replace(setup.legacy, exact=False)
    program = cast(GraphProgram, legacy.factory.legacy_program(setup.job, shapes_source(setup), options, devices))
    try:
        results = [program.graph.get_operation_by_name(program.train_nodes()[0])]
        nodes = read_nodes(program.graph, results, lambda device: device or devices[0])
    finally:
        program.close()
    return StepGraph("legacy", nodes, setup.job.replicas, setup.job.global_batch, parameter_bytes(setup.job))
