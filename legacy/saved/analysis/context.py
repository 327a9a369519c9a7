"""Context of an analysis: the graph at hand, its variables and its towers, which every step of the analysis needs."""

from __future__ import annotations

from collections.abc import Iterable

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.variables import VariableUses
from legacy.saved.runs.accumulation import accumulators, dependent_on_gradients
from legacy.saved.tower_search.search import find_towers
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name, tensor_name
from workloads.lifted.plan import TensorType


class Context:
    """A cut graph with everything that is computed from it once.

    Attributes:
      graph: the cut graph.
      imported: the same as TensorFlow imports it: shapes, dtypes, op definitions.
      state: its variables, their reads and updates.
      accumulators: {variable that keeps gradients between runs: assignments that bring gradients there}.
      of_gradients: nodes that depend on gradients.
      random: nodes that draw random numbers.
      data: nodes that depend on data or on random numbers.
      tensors: {tensor's name: [dtype's name, shape]}, for the plan, of the tensors whose signature was recorded.
    """

    def __init__(self, graph: Graph, trainable: Iterable[str] = ()) -> None:
        """Imports the graph.

        Args:
          graph: the cut graph.
          trainable: names of trainable variables, or empty if they are not known.
        """
        self.graph = graph
        self.imported = ImportedGraph(graph)
        trained = set(trainable)
        self.state = VariableUses(graph, self.imported, trained)
        self.accumulators = accumulators(graph, self.state.rules, trained)
        self.of_gradients = dependent_on_gradients(graph)
        self.random = set(graph.of_kind(op_types.is_random))
        placeholders = set(graph.of_types("Placeholder"))
        self.data = graph.descendants(placeholders | self.random, controls=False)
        self.tensors: dict[str, TensorType] = {}
        self._towers: Towers | None = None

    @property
    def towers(self) -> Towers:
        """The towers; they are looked for when they are first asked for, since another graph may be made before."""
        if self._towers is None:
            weights = {self.state.writes[rule][0] for rule in self.state.rules}
            variables = self.state.variables
            self._towers = find_towers(self.graph, self.imported, variables, self._update_inputs(), weights)
        return self._towers

    def signature(self, tensor: TensorId) -> tuple[str, tuple[int | None, ...] | None]:
        """Returns a tensor's dtype name and its shape; the shape is None where the rank is not known."""
        return self.imported.dtype(*tensor), self.imported.shape(*tensor)

    def record_signature(self, name: str) -> TensorType:
        """Returns the type of the tensor called `name`, and records it for the plan."""
        dtype, shape = self.signature(parse_tensor_name(name))
        self.tensors[name] = TensorType(dtype, None if shape is None else list(shape))
        return self.tensors[name]

    def names(self, tensors: Iterable[TensorId]) -> list[str]:
        """Returns the names of some tensors, and records their signatures for the plan."""
        made = [tensor_name(*tensor) for tensor in tensors]
        for name in made:
            self.record_signature(name)
        return made

    def _update_inputs(self) -> list[TensorId]:
        """Inputs of the update ops: the points where the towers' data flow joins."""
        effects = [name for name in self.graph.nodes if name in self.state.writes]
        return [tensor for name in effects for tensor in self.graph.inputs(name) if tensor not in self.state.aliases]
