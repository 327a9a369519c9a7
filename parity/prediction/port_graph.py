"""Step graph of the port: the function of one step of all replicas, on the devices of a machine."""

from __future__ import annotations

import dataclasses
from typing import cast

import tensorflow as tf

import modern.factory
from modern.collectives.strategy import divide_cpu
from modern.mirrored.traced_program import TracedProgram
from parity.comparison.setup import Setup
from parity.prediction.graph_reading import read_nodes
from parity.prediction.machines.machine import Machine
from parity.prediction.shapes import parameter_bytes, shapes_source
from parity.prediction.step_graph import HOST, StepGraph
from parity.profiling.kernel_events import short_device


def port_step_graph(setup: Setup, machine: Machine) -> StepGraph:
    """Traces the port's step and reads it; no step is run.

    Accelerators that are not here are stood in for by logical devices of the CPU: CPU:1 for GPU:0, and so on.

    Args:
      setup: the job and the options of the port.
      machine: see `legacy_graph.legacy_step_graph`.

    Returns:
      the graph of one step.

    Raises:
      InputError: there are fewer logical devices than replicas.
    """
    replicas = setup.job.replicas
    first = 0 if machine.is_host_only else 1
    divide_cpu(max(setup.logical_cpus, replicas + first))
    devices = [f"CPU:{number + first}" for number in range(replicas)]
    options = dataclasses.replace(setup.modern, exact=False)
    if options.variables == "auto" and not machine.is_host_only:
        options = dataclasses.replace(options, variables="mirrored")  # "auto" would see the stand-ins, which are CPUs
    program = modern.factory.modern_program(setup.job, shapes_source(setup), options, devices)
    try:
        graph = cast(TracedProgram, program).trace_step()
        graph_def = with_variables(graph)
        results = [*(tensor.op for tensor in graph.outputs), *graph.control_outputs]

        def device_of(device: str) -> str:
            number = int(device.rpartition(":")[2]) if device else first
            return HOST if number < first else device if machine.is_host_only else f"GPU:{number - first}"

        places = {inside.op.name: short_device(outside.device) for outside, inside in graph.captures}
        nodes = read_nodes(graph, results, lambda device: device_of(device or devices[0]), graph_def, places)
    finally:
        program.close()
    calls = 1 / setup.modern.steps_per_call
    captures = len(graph.variables)
    return StepGraph("modern", nodes, replicas, setup.job.global_batch, parameter_bytes(setup.job), calls, captures)


def with_variables(graph: tf.Graph) -> tf.compat.v1.GraphDef:
    """Returns a function's graph in which the handles of captured variables are ops that make them.

    The cost model then knows the shapes of what is read and updated.
    """
    handles = {id(variable.handle): variable for variable in graph.variables}
    captured = {inside.op.name: handles[id(outside)] for outside, inside in graph.captures if id(outside) in handles}
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        variable = captured.get(node.name)
        if variable is not None:
            node.op = "VarHandleOp"
            node.ClearField("attr")
            node.attr["dtype"].type = variable.dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
            node.attr["shared_name"].s = node.name.encode()
    return graph_def
