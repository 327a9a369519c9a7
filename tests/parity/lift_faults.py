"""Faults in one op of an old graph, for tests of whether that op is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any
from unittest import mock

import tensorflow as tf

import modern.factory
from parity.comparison.setup import Setup
from tests import old_programs
from workloads.job import Job
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.lift_taps import find_taps
from workloads.lifted.workload import LiftedWorkload, as_lifted

v1 = tf.compat.v1


def scaled_graph(graph: Graph, nodes: Collection[str], factor: float = 1.5) -> Graph:
    """Returns a graph in which the first output of some nodes, of float32, is `factor` times what it was."""
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    for name, node in graph.nodes.items():
        copy = result.node.add()
        copy.CopyFrom(node)
        if name in nodes:
            copy.name = name + "/healthy"
            constant = result.node.add(name=name + "/factor", op="Const")
            constant.attr["dtype"].type = tf.float32.as_datatype_enum
            constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(factor, tf.float32))
            product = result.node.add(name=name, op="Mul", input=[copy.name, constant.name])
            product.attr["T"].type = tf.float32.as_datatype_enum
    return Graph(result)


def faulty_lift(workload: LiftedWorkload, nodes: Collection[str]) -> LiftedWorkload:
    """Returns a lift with a fault in some of its nodes."""
    return dataclasses.replace(workload, graph=scaled_graph(workload.graph, nodes))


def tapped_lift(
    name: str, nodes: Collection[str] = (), taps: tuple[str, ...] = ("*",), replicas: int | None = None, **options: Any
) -> Setup:
    """Returns the setup of a recorded old program, whose port has a fault in some nodes.

    Args:
      name: of the program.
      nodes: with the fault; none for no fault.
      taps: patterns of the taps that are recorded.
      replicas: of both sides; None for as many as the graph has towers.
      **options: further ones of the port.
    """
    setup = dataclasses.replace(old_programs.setup(name, replicas), replicated=True)
    setup = dataclasses.replace(
        setup,
        legacy=dataclasses.replace(setup.legacy, taps=taps),
        modern=dataclasses.replace(setup.modern, taps=taps, **options),
    )
    if not nodes:
        return setup
    healthy = as_lifted(setup.job.workload)
    workload = faulty_lift(healthy, nodes)
    faulty: Job = dataclasses.replace(setup.job, workload=workload)

    def port(setup: Setup) -> Any:  # the taps are those of the healthy graph: only what it computes has the fault
        with mock.patch("modern.lifted.program.find_taps", lambda _, patterns: find_taps(healthy, patterns)):
            return faulty_program(setup)

    def faulty_program(setup: Setup) -> Any:
        return modern.factory.modern_program(faulty, setup.make_source(faulty), setup.modern, setup.devices())

    return dataclasses.replace(setup, port=port)
