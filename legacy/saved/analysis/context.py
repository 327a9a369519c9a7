"""What every step of an analysis needs to know of the graph at hand."""

from __future__ import annotations

from legacy.saved.analysis import towers
from legacy.saved.graph import cone, op_types
from legacy.saved.graph.variables import State
from workloads.lifted.graph import split, tensor_name


class Context:
    """
    Attributes:
      graph: the cut `Graph`; `imported`: the same as TensorFlow sees it.
      state: `State`; `towers`: `Towers`.
      random: nodes that draw random numbers; `data`: nodes that depend on data or on those.
      tensors: {tensor's name: [dtype's name, shape]} of those that were signed, for the plan.
    """

    def __init__(self, graph, trainable=()):
        self.graph = graph
        self.imported = cone.Imported(graph)
        self.state = State(graph, self.imported, set(trainable))
        self.random = {name for name in graph.nodes if op_types.is_random(graph.type(name))}
        self.towers = towers.find(graph, self.imported, self.state, self._changes())
        placeholders = {name for name in graph.nodes if graph.type(name) == "Placeholder"}
        self.data = graph.descendants(placeholders | self.random, controls=False)
        self.tensors = {}

    def signature(self, tensor):
        """(dtype's name, shape) of (node, output)."""
        return self.imported.dtype(*tensor), self.imported.shape(*tensor)

    def sign(self, name):
        """[dtype's name, shape] of the tensor called `name`, noted for the plan."""
        dtype, shape = self.signature(split(name))
        self.tensors[name] = [dtype, None if shape is None else list(shape)]
        return self.tensors[name]

    def names(self, tensors):
        """Names of some (node, output), signed."""
        made = [tensor_name(*tensor) for tensor in tensors]
        for name in made:
            self.sign(name)
        return made

    def _changes(self):
        """What variables are changed by: the tensors in which towers meet."""
        effects = [name for name in self.graph.nodes if name in self.state.writes]
        return [tensor for name in effects for tensor in self.graph.inputs(name) if tensor not in self.state.aliases]
