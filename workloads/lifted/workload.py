"""`LiftedWorkload`: a lifted program where a workload goes. A folder holds it: plan, graph, and variables' values."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
from typing import Any

import numpy as np
import tensorflow as tf

from workloads import schedules
from workloads.lifted import PLAN, checkpoint, is_lifted
from workloads.lifted.graph import Graph
from workloads.lifted.noise import loops_of
from workloads.lifted.pieces import Cutter
from workloads.lifted.plan import FORMAT, Plan
from workloads.program import State
from workloads.scope import VariableSpec
from workloads.support.errors import InputError, require
from workloads.workload import Workload

v1 = tf.compat.v1

GRAPH, VALUES = "graph.pb", "variables"
#: How many steps the port has taken since the lift, beside the variables: data and noise go on from there.
STEP = "lift/step"
#: Examples of one replica where the graph takes any number and nobody says.
DEFAULT_BATCH = 8
#: The state that each role of a variable belongs to.
KINDS = {"weight": "weights", "slot": "slots", "average": "averages", "statistic": "statistics", "state": "statistics"}


@dataclasses.dataclass(frozen=True)
class LiftedWorkload(Workload):
    """An old program as a workload. It brings its own loss, gradients, combining, update rules and schedule as graph.

    Attributes:
      digest: of graph and plan; two lifts of one program have the same.
    """

    digest: str = ""
    learning_rate: Any = schedules.Fixed(0.0)
    folder: str = dataclasses.field(default="", compare=False, repr=False)
    plan: Any = dataclasses.field(default=None, compare=False, repr=False)
    graph: Any = dataclasses.field(default=None, compare=False, repr=False)

    def inputs(self):
        """{name: `plan.Input`} of all that a replica's batch holds."""
        return {entry.name: entry for entry in self.plan.inputs + self.plan.common}

    def check(self):
        """A lift was checked when it was made."""

    def check_size(self, replicas, per_replica_batch):
        """Raises `InputError` unless the graph takes `per_replica_batch` examples a replica."""
        require(
            self.plan.batch in (None, per_replica_batch),
            "--global_batch",
            replicas * per_replica_batch,
            f"this graph takes {self.plan.batch} a replica, so {replicas * (self.plan.batch or 0)}",
        )

    def default_global_batch(self, replicas):
        """What the graph takes, or `DEFAULT_BATCH` a replica."""
        return replicas * (self.plan.batch or DEFAULT_BATCH)

    def describe(self):
        return {"name": self.name, "graph": self.digest, "towers": str(self.plan.towers)}

    def update_rules(self):
        """Op types of the update rules, in words."""
        effects = [effect for phase in self.plan.phases for effect in phase.effects]
        return ", ".join(sorted({effect.op for effect in effects if "Apply" in effect.op}))

    def variables(self):
        """Tuple of `VariableSpec` of all that a step reads or changes."""
        return tuple(
            VariableSpec(v.name, tuple(v.shape), v.dtype, v.role == "weight", None) for v in self.plan.variables
        )

    def initial_state(self):
        """The `State` that the lifted checkpoint holds."""
        values = self.values()
        return self.state(int(values.get(STEP, 0)), values)

    def state(self, step, values):
        """The `State` at `step` of {variable: array}."""
        state = State(step, {}, {}, {}, {})
        for variable in self.plan.variables:
            getattr(state, KINDS[variable.role])[variable.name] = np.asarray(values[variable.name], variable.dtype)
        return state

    def values(self):
        """{name: array} of all that the lift's checkpoint holds: more than a step uses, if the old one did."""
        return checkpoint.read(os.path.join(self.folder, VALUES))

    def save(self, folder, state):
        """Writes this lift with `state` for a start: training goes on from there."""
        values = dict(self.values())
        for arrays in (state.weights, state.slots, state.statistics, state.averages):
            values.update(arrays)
        values[STEP] = np.asarray(state.step, np.int64)
        save(folder, self.plan, self.graph.graph_def, values)

    def cutter(self, random):
        """A `pieces.Cutter` for the graph; `random` as there, on top of what the plan says."""
        how = {node: e.how for e in self.plan.noise + self.plan.common_noise for node in e.nodes if node}
        how.update(random)
        variables = {v.name: (v.dtype, v.shape) for v in self.plan.variables}
        return Cutter(self.graph, self.plan.aliases, variables, self.plan.tensors.__getitem__, how, loops_of(self.plan))


@contextlib.contextmanager
def running(what):
    """Turns an error of TensorFlow's inside into an `InputError`: an old graph may ask for what is not here.

    Args:
      what: which program runs, in words.
    """
    try:
        yield
    except tf.errors.OpError as error:
        lines = [line.strip() for line in str(error.message).splitlines() if line.strip()]
        said = next(
            (line for line in lines if not line.startswith(("2 root", "(0)", "Detected"))), lines[0] if lines else ""
        )
        raise InputError(f"--workload: {what} does not run here with these data: {said[:300]}")


def load(folder):
    """The `LiftedWorkload` in a folder.

    Raises:
      InputError: the folder's files are missing or damaged.
    """
    try:
        with open(os.path.join(folder, PLAN), encoding="utf-8") as file:
            content = json.load(file)
        with open(os.path.join(folder, GRAPH), "rb") as file:
            graph_bytes = file.read()
        require(content.get("format") == FORMAT, "--workload", folder, f"expected a lift of format {FORMAT}")
        require(
            content.pop("graph_digest") == hashlib.sha256(graph_bytes).hexdigest(),
            "--workload",
            folder,
            f"{GRAPH} is not the graph that {PLAN} was made for; lift again",
        )
        plan = Plan.from_json(content)
        graph = Graph(v1.GraphDef.FromString(graph_bytes))
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"--workload: {folder!r} is damaged, or not a lift: {error}")
    digest = hashlib.sha256(graph_bytes + json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()[:12]
    return LiftedWorkload(
        name=plan.name,
        global_batch=plan.towers * (plan.batch or DEFAULT_BATCH),
        digest=digest,
        folder=folder,
        plan=plan,
        graph=graph,
    )


def save(folder, plan, graph_def, values):
    """Writes a lift: first beside `folder`, then in its place.

    Args:
      values: {variable: array}.
    """
    replaceable = not os.path.exists(folder) or is_lifted(folder) or (os.path.isdir(folder) and not os.listdir(folder))
    require(replaceable, "--out", folder, "exists and is not a lift; name another")
    above = os.path.dirname(os.path.abspath(folder))
    require(os.path.isdir(above), "--out", folder, "must be in a folder that exists")
    part, old = folder.rstrip("/\\") + ".part", folder.rstrip("/\\") + ".old"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    graph_bytes = graph_def.SerializeToString()
    content = dict(plan.to_json(), graph_digest=hashlib.sha256(graph_bytes).hexdigest())
    with open(os.path.join(part, GRAPH), "wb") as file:
        file.write(graph_bytes)
    with open(os.path.join(part, PLAN), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    checkpoint.write(os.path.join(part, VALUES), values)
    shutil.rmtree(old, ignore_errors=True)
    if os.path.isdir(folder):
        os.replace(folder, old)
    os.replace(part, folder)
    shutil.rmtree(old, ignore_errors=True)
