"""A whole saved graph with its towers: those of its analysis, or without one those that names or devices suggest."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.tower_labels import labels_of_analysis, suggested_labels
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import variable_of, written_variables
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.graph.trained import gradient_assignments, trained_variables
from legacy.saved.runs import train_ops
from legacy.saved.runs.accumulation import dependent_on_gradients, queued_gradients
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {op: the power of its input that it computes}.
_ROOTS = {"Sqrt": 0.5, "Rsqrt": -0.5}


class WholeGraph:
    """A saved graph with labels of towers and the nodes that update variables.

    Attributes:
      graph: all nodes.
      collections: of the file.
      trainable: names of the variables that the program trains; see `trained_variables`.
      labels: {node: tower}; empty if no towers were recognised. A gradient op belongs where its forward op does.
      count: number of towers, 1 if none were recognised.
      settings: {placeholder: value} of those that the lift fixed; empty without an analysis.
      found_by: the naming or placement by which the towers were recognised, in words.
      members: nodes that the train ops run.
      read: nodes that reading the losses runs, as a lift does in every step; empty without an analysis.
      data: nodes that depend on a data source or on random numbers.
      writes: {node: the variable that it changes}, without initializers and restores.
      applies: update rules: the nodes that train a variable, by an op type of their own or by an assignment.
      reach: nodes that an update rule depends on, also by way of variables or queues that hold gradients between runs.
      targets: forward nodes whose derivatives update rules take: what is minimized.
      minimized: nodes that these are computed from, themselves included.
      computed: those of `minimized` that the step runs, without branches that a setting such as is_training rules out.
    """

    def __init__(self, saved: SavedGraph, found: Analysis | None = None) -> None:
        """Finds the towers and the updates.

        Args:
          saved: the graph, as read from its file.
          found: its analysis, which knows the towers; None to look for towers in the whole graph.
        """
        self.graph = saved.graph
        self.collections = saved.collections
        listed = saved.collections.get("trainable_variables", [])
        self.trainable = set(found.trained if found else trained_variables(saved.graph, listed))
        self.members = self._members(found)
        self._is_analysed = found is not None
        self.read = self._ancestors_of_losses(found) if found else set()
        self.settings = dict(found.plan.settings) if found else {}
        self.found_by, labels = labels_of_analysis(self.graph, found.context) if found else ("", {})
        if not labels:
            self.found_by, labels = suggested_labels(self.graph, self.members if found else None)
        variables = set(self.graph.of_types(*op_types.VARIABLES))
        self.data = self._data(found)
        self.writes = written_variables(self.graph)
        # A variable, and its own reads and assignments, belong to no tower, wherever they were made. A layer whose
        # variable has the name of its scope computes with data there.
        computing = self.data - self.writes.keys()
        own = {name for name in labels if name.rpartition("/")[0] in variables and name not in computing}
        self.labels = {n: t for n, t in labels.items() if n in self.graph.nodes and n not in variables and n not in own}
        self.count = len(set(self.labels.values())) or 1
        self.applies = self._update_rules()
        self.reach = self._reach()
        self.targets = differentiated(self.graph, self.reach)
        self.minimized = self.graph.ancestors(self.targets, controls=False)
        self.computed = self._computed(found) if found else self.minimized
        self._values: dict[str, float | None] = {}

    def towers(self) -> range:
        """Numbers of the towers."""
        return range(self.count)

    def backward(self, tower: int) -> list[str]:
        """Nodes of a tower's backward pass."""
        return [name for name, t in self.labels.items() if t == tower and is_gradient_op(name)]

    def minimized_ops(self, *kinds: str) -> list[str]:
        """Nodes of some op types that what is minimized is computed from, in the order of the graph."""
        return [name for name in self.graph.of_types(*kinds) if name in self.minimized]

    def towers_of(self, names: Iterable[str]) -> set[int]:
        """The set of towers that some nodes are labelled with."""
        return {self.labels[name] for name in names if name in self.labels}

    def value(self, name: str) -> float | None:
        """The value of a scalar Const, through Identity and Cast, of its root, or of one less another; else None."""
        if name not in self._values:
            self._values[name] = self._value(name)
        return self._values[name]

    def _value(self, name: str) -> float | None:
        while self.graph.type(name) in op_types.COPIES and self.graph.inputs(name):
            name = self.graph.inputs(name)[0][0]
        if self.graph.type(name) == "Sub":  # a moving average takes in 1 - decay
            first, second = (scalar_constant(self.graph.nodes[tensor.node]) for tensor in self.graph.inputs(name))
            return None if first is None or second is None else first - second
        if self.graph.type(name) in _ROOTS:  # attention is scaled by the root of a size
            inner = self._value(self.graph.inputs(name)[0].node)
            return inner ** _ROOTS[self.graph.type(name)] if inner is not None and inner > 0 else None
        return scalar_constant(self.graph.nodes[name])

    def variable_of(self, apply: str) -> str | None:
        """Name of the variable that an update op writes, or None."""
        return variable_of(self.graph, apply)

    def is_scalar(self, variable: str) -> bool:
        """Whether a variable holds one number, such as a step counter or the average of a loss for display."""
        shape = self.graph.nodes[variable].attr["shape"].shape
        return not shape.dim and not shape.unknown_rank

    def _data(self, found: Analysis | None) -> set[str]:
        """The nodes that depend on examples or random numbers, not on settings alone."""
        entries = found.plan.inputs + found.plan.common if found else []
        settings = {
            parse_tensor_name(tensor).node for entry in entries if entry.kind == "setting" for tensor in entry.tensors
        }
        kinds = {name: self.graph.type(name) for name in self.graph.nodes}
        sources = {name for name, kind in kinds.items() if op_types.is_source(kind) or op_types.is_random(kind)}
        sources -= {name for name in sources if name in settings or is_scalar_placeholder(self.graph, name)}
        return self.graph.descendants(sources, controls=False)

    def data_towers(self, name: str) -> set[int]:
        """The towers on whose data a node depends, also by way of results computed from them."""
        needed = self.graph.ancestors([name], controls=False)
        return {self.labels[n] for n in needed if n in self.labels and n in self.data}

    def run_together(self, names: Collection[str]) -> bool:
        """Returns whether the analysed train ops run some nodes in turn; without analysis, whether one of them does."""
        if self._is_analysed:
            return set(names) <= self.members
        train = train_ops.find_train_ops(self.graph, self.trainable)
        return any(set(names) <= self.graph.ancestors([name]) for name in train)

    def _members(self, found: Analysis | None) -> set[str]:
        if found is None:
            return self.graph.ancestors(train_ops.find_train_ops(self.graph, self.trainable))
        targets = [phase.train_op for phase in found.plan.phases]
        # A train op that was joined with others of its run stands in the analysed graph only.
        joined = found.whole.ancestors([name for name in targets if name not in self.graph.nodes])
        return self.graph.ancestors([name for name in {*targets, *joined} if name in self.graph.nodes])

    def _computed(self, found: Analysis) -> set[str]:
        kept = [name for name in self.targets if name in found.whole.nodes]
        return found.whole.ancestors(kept, controls=False) & self.minimized if kept else self.minimized

    def _ancestors_of_losses(self, found: Analysis) -> set[str]:
        names = {parse_tensor_name(loss).node for phase in found.plan.phases for loss in phase.losses}
        return self.graph.ancestors(names & set(self.graph.nodes))

    def _update_rules(self) -> list[str]:
        applies = self.graph.of_kind(op_types.is_apply)
        by_hand = gradient_assignments(self.graph, self.trainable) - set(applies)
        return applies + [name for name in self.writes if name in by_hand]

    def _reach(self) -> set[str]:
        """Ancestors of the update rules; a variable that is no weight hands on what is assigned to it.

        It hands on what a train op assigns, gradients that other runs add up, and what depends on no data, such as a
        learning rate that is set between the steps; not the statistics of evaluation.
        """
        if not self.applies:
            return set()
        weights = self.trainable | {self.variable_of(name) or "" for name in self.applies}
        queued = [name for names in queued_gradients(self.graph, self.applies).values() for name in names]
        reach = self.graph.ancestors([*self.applies, *queued], controls=False)
        run = self.members | dependent_on_gradients(self.graph)
        handed = {name: variable for name, variable in self.writes.items() if name in run or name not in self.data}
        others = {name: variable for name, variable in handed.items() if variable not in weights}
        while True:
            more = [name for name, variable in others.items() if variable in reach and name not in reach]
            if not more:
                return reach
            reach |= self.graph.ancestors(more, controls=False)


def is_scalar_placeholder(graph: Graph, name: str) -> bool:
    """Whether a node is a placeholder of one number, such as a learning rate or is_training."""
    if not graph.type(name).startswith("Placeholder"):
        return False
    attributes = graph.nodes[name].attr
    recorded = attributes["_output_shapes"].list.shape
    shape = recorded[0] if recorded else attributes["shape"].shape
    given = bool(recorded) or graph.type(name) != "Placeholder" or attributes["shape"].HasField("shape")
    if given and not shape.unknown_rank and (recorded or shape.dim or graph.type(name) != "Placeholder"):
        return not shape.dim
    return attributes["dtype"].type == tf.bool.as_datatype_enum


def has_data_of_its_own(whole: WholeGraph, names: Collection[str], beside: Collection[str] = ()) -> bool:
    """Returns whether nodes are computed from examples that no update depends on, as in a copy of a model to evaluate.

    Args:
      whole: the graph.
      names: of the nodes.
      beside: sources that do not count.

    Returns:
      Whether they are. Numbers that are fed, such as a keep probability, are no examples.
    """
    graph = whole.graph
    sources = {name for name in graph.ancestors(names, controls=False) if op_types.is_source(graph.type(name))}
    others = {name for name in sources - set(beside) if not is_scalar_placeholder(graph, name)}
    return bool(others) and not others & whole.reach


def scalar_constant(node: tf.compat.v1.NodeDef) -> float | None:
    """Returns the number that a Const with one element holds; None for any other node."""
    if node.op != "Const":
        return None
    shape = node.attr["value"].tensor.tensor_shape
    if any(dimension.size != 1 for dimension in shape.dim):
        return None
    value = tf.make_ndarray(node.attr["value"].tensor)
    return value.item() if np.size(value) == 1 and value.dtype.kind in "iuf" else None


def ancestors_of_tensors(graph: Graph, tensors: Iterable[str]) -> set[str]:
    """Returns the nodes that the tensors of some names are computed from."""
    return graph.ancestors([parse_tensor_name(tensor)[0] for tensor in tensors], controls=False)
