"""A lift small enough to compute by hand: one scalar weight, two towers, plain SGD on the mean of their gradients.

Tower k's loss is sum(w * xk), so its gradient is sum(xk); a step subtracts a quarter of the mean gradient from w. The
graph leaves open whether a loss reads w before or after that; the plan says before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from workloads.job import Job
from workloads.lifted.folder import write_lift
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Combine, ControlDependency, Effect, Input, Phase, Plan, TensorType, Variable
from workloads.lifted.workload import LiftedWorkload, load_lift
from workloads.program import Arrays
from workloads.sources import Source

v1 = tf.compat.v1

#: The weight at the start, and the learning rate.
START, RATE = 2.0, 0.25
SCALAR = TensorType("float32", [])


def small_graph() -> Graph:
    """Returns the graph; a reference variable, as programs before resource variables had."""
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(START), use_resource=False)
        for k in range(2):
            with tf.device(f"/gpu:{k}"):
                x = v1.placeholder(tf.float32, [2], name=f"x{k}")
                tf.reduce_sum(w * x, name=f"loss{k}")
                tf.reduce_sum(x, name=f"g{k}")
        total = tf.add_n([graph.get_tensor_by_name(f"g{k}:0") for k in range(2)], name="total")
        mean = tf.multiply(total, 0.5, name="mean")
        tf.raw_ops.ApplyGradientDescent(var=w, alpha=tf.constant(RATE, name="rate"), delta=mean, name="update")
    return Graph(graph.as_graph_def())


def small_plan() -> Plan:
    """Returns the plan of `small_graph`."""
    update = Effect("update", "ApplyGradientDescent", ["w"], ["rate:0", "mean:0"], "mean:0", "rate:0", 1, 0)
    phase = Phase(
        train_op="update",
        losses=["loss0:0", "loss1:0"],
        loss_scale=1.0,
        gradients=[{"w": "g0:0"}, {"w": "g1:0"}],
        crossings=[["g0:0", "g1:0"]],
        effects=[update],
        versions=[],
        control_dependencies=[ControlDependency("loss0", "update"), ControlDependency("loss1", "update")],
        races=[],
        combine=[Combine("w", "mean", "mean:0", 1.0, [["g0:0"], ["g1:0"]])],
        raw=[{"w": "g0:0"}, {"w": "g1:0"}],
    )
    scalars = ["loss0:0", "loss1:0", "g0:0", "g1:0", "mean:0", "rate:0"]
    return Plan(
        name="small",
        towers=2,
        found_by="device /gpu:k",
        batch=2,
        inputs=[Input("x", "float32", [2], "batch", 0, ["x0:0", "x1:0"], "x:0")],
        common=[],
        noise=[],
        common_noise=[],
        variables=[Variable("w", [], "float32", "weight")],
        sources={"x0": "x0:0", "x1": "x1:0"},
        aliases={"w:0": "w", "w/read:0": "w"},
        tensors={
            **{name: SCALAR for name in scalars},
            "x0:0": TensorType("float32", [2]),
            "x1:0": TensorType("float32", [2]),
        },
        phases=[phase],
    )


def small_lift(folder: str, change: Callable[[Plan], None] = lambda plan: None) -> LiftedWorkload:
    """Returns the workload, written to `folder`, after `change` has changed its plan."""
    plan = small_plan()
    change(plan)
    write_lift(folder, plan, small_graph().graph_def, {"w": np.float32(START)})
    return load_lift(folder)


class CountingSource(Source):
    """Global batches of consecutive numbers: 1, 2, 3, 4 in step 0, 5, 6, 7, 8 in step 1."""

    def shards(self, step: int) -> list[Arrays]:
        count = self._job.global_batch
        values = np.arange(step * count + 1, (step + 1) * count + 1, dtype=np.float32)
        return [{"x": part} for part in np.split(values, self._job.replicas)]


def small_job(folder: str, replicas: int = 2) -> Job:
    """Returns a job of `small_lift`."""
    return Job(small_lift(folder), replicas)
