"""Rewrites the nodes of a graph, or of a function's body, to float64.

Every floating dtype among a node's attributes becomes float64. Where the op has no such kernel, its formula takes its
place. Inputs, random numbers and data that are computed without weights stay as they are, and are cast where
they are used: both sides get the same float32 numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Set

import tensorflow as tf

from workloads.lifted.double.errors import NotInDouble
from workloads.lifted.double.expansion import expand
from workloads.lifted.double.formulas import FORMULAS
from workloads.lifted.double.signatures import WIDER, Signatures, base_dtype, dtypes_of, fill_defaults, has_kernel
from workloads.lifted.graph import Graph, TensorId, input_text
from workloads.lifted.graph.tensor_names import control_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

v1 = tf.compat.v1

#: Ops that draw floats: numbers of another dtype would be other numbers.
RANDOM = (
    "RandomUniform",
    "RandomStandardNormal",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "RandomGamma",
    "RandomPoisson",
    "RandomPoissonV2",
    "StatelessRandomUniform",
    "StatelessRandomUniformV2",
    "StatelessRandomNormal",
    "StatelessRandomNormalV2",
    "StatelessTruncatedNormal",
    "StatelessTruncatedNormalV2",
    "StatelessRandomGammaV2",
    "StatelessRandomPoisson",
    "StatelessParameterizedTruncatedNormal",
)
#: Prefixes of ops whose dtypes are part of what they read: bits, records, the results of Python functions.
READERS = (
    "Bitcast",
    "Decode",
    "Parse",
    "StringToNumber",
    "PyFunc",
    "EagerPyFunc",
    "Restore",
    "QueueDequeue",
    "IteratorGetNext",
    "LookupTable",
    "Unstage",
)
#: Ops with a float32 tensor that is only a token of order.
TOKENS = "TensorArray"


class Rewritten(NamedTuple):
    """A rewritten graph.

    Attributes:
      nodes: its NodeDefs.
      dtype: function from a tensor to its dtype; only of rewritten and of used nodes.
      casts: {tensor: the same in float64} of tensors that stayed in float32.
      entrances: {node: the nodes that read its inputs} of those that became formulas.
      functions: FunctionDefs that formulas call.
    """

    nodes: List[Any]
    dtype: Callable[[TensorId], int]
    casts: Dict[TensorId, TensorId]
    entrances: Dict[str, List[str]]
    functions: List[Any]


class GraphRewriter:
    """Rewrites one graph.

    Args:
      graph: index of the graph.
      signatures: of its ops and functions.
      double_function: function from a function's name to that of its copy in float64.
      wanted: nodes to rewrite; all others stay as they are.
      kept: those of them that stay as well.
      varying: nodes whose values depend on variables.
      known: {tensor: dtype} of given tensors, whatever their nodes.
    """

    def __init__(
        self,
        graph: Graph,
        signatures: Signatures,
        double_function: Callable[[str], str],
        wanted: Collection[str],
        kept: Collection[str] = (),
        varying: Collection[str] = (),
        known: Mapping[TensorId, int] | None = None,
    ) -> None:
        self._graph, self._signatures, self._double_function = graph, signatures, double_function
        self._wanted, self._kept, self._varying = wanted, kept, varying
        self._dtypes: Dict[TensorId, int] = dict(known or {})
        self._loops = graph.frames()
        self._nodes: Dict[str, Any] = {}
        self._rewritten: Set[str] = set()
        self._casts: Dict[TensorId, TensorId] = {}
        self._extra: List[Any] = []
        self._entrances: Dict[str, List[str]] = {}
        self._functions: List[Any] = []

    def rewrite(self) -> Rewritten:
        """Returns the rewritten graph.

        Raises:
          NotInDouble: a node has no form in float64.
        """
        expanded = []
        for name, node in self._graph.nodes.items():
            self._nodes[name] = node
            if name not in self._wanted:
                continue
            copy = self._complete(node)
            if name in self._kept:
                self._check_may_stay(copy)
            elif node.op in FORMULAS and any(dtype in WIDER for dtype in self._signatures.inputs(copy)):
                expanded.append(self._expand(copy))
                self._rewritten.add(name)
            elif self._widen(copy):
                self._nodes[name] = copy
                self._rewritten.add(name)
        for node in list(self._nodes.values()):
            if node.name not in self._entrances:
                self._connect(node)
        for node, entrances in expanded:
            self._connect_entrances(node, entrances)
        nodes = list(self._nodes.values()) + self._extra
        return Rewritten(nodes, self._dtype, self._casts, self._entrances, self._functions)

    def _expand(self, node: Any) -> tuple[Any, list[Any]]:
        """Replaces a node by its formula; returns the node, and the formula's entrances."""
        dtypes = [WIDER.get(dtype, dtype) for dtype in self._signatures.inputs(node)]
        expansion = expand(node, dtypes, node.name in self._loops)
        self._nodes[node.name] = expansion.nodes[-1]
        self._extra += expansion.nodes[:-1] + expansion.entrances
        self._entrances[node.name] = [entrance.name for entrance in expansion.entrances]
        self._functions += expansion.functions
        return node, expansion.entrances

    def _widen(self, node: Any) -> bool:
        """Changes a NodeDef to float64; returns False where it must stay as it is, and may.

        Raises:
          NotInDouble: it must stay, and its results depend on variables.
        """
        definition = self._signatures.definition(node.op)
        narrow = v1.NodeDef()
        narrow.CopyFrom(node)
        called = self._call_doubles(node)
        floats = [name for name in node.attr if any(dtype in WIDER for dtype in dtypes_of(node.attr[name]))]
        for name in floats:
            attribute = node.attr[name]
            wide = [WIDER.get(dtype, dtype) for dtype in dtypes_of(attribute)]
            if attribute.WhichOneof("value") == "type":
                attribute.type = wide[0]
            else:
                attribute.list.type[:] = wide
        fixed = self._signatures.has_fixed_floats(node.op) and not node.op.startswith(TOKENS)
        if not floats and not fixed:
            return called
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            wide_type = tf.as_dtype(node.attr["dtype"].type)
            node.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(value.astype(wide_type.as_numpy_dtype)))
            return True
        stays = node.op in RANDOM or node.op.startswith(READERS)
        if not stays and not fixed and (called or has_kernel(node, definition)):
            return True
        self._check_may_stay(narrow)
        return False

    def _call_doubles(self, node: Any) -> bool:
        """Replaces the functions that a NodeDef calls by their copies in float64; returns whether there are any."""
        called = False
        if self._signatures.is_function(node.op):
            node.op, called = self._double_function(node.op), True
        for attribute in node.attr.values():
            for function in [attribute.func] if attribute.WhichOneof("value") == "func" else attribute.list.func:
                function.name, called = self._double_function(function.name), True
        return called

    def _check_may_stay(self, node: Any) -> None:
        """Raises `NotInDouble` if a node depends on variables and shows that in numbers."""
        numbers = any(output.dtype != tf.string.as_datatype_enum for output in self._signatures.outputs(node))
        given = any(producer in self._varying for producer, _ in self._graph.inputs(node.name))
        if numbers and given and any(dtype in WIDER for dtype in self._signatures.inputs(node)):
            raise NotInDouble(f"{node.op} {node.name!r} has no form in float64")

    def _dtype(self, tensor: TensorId) -> int:
        """Returns the dtype of a tensor of the rewritten graph."""
        if tensor not in self._dtypes:
            for place, output in enumerate(self._signatures.outputs(self._complete(self._nodes[tensor.node]))):
                self._dtypes.setdefault(TensorId(tensor.node, place), base_dtype(output.dtype))
        return self._dtypes[tensor]

    def _complete(self, node: Any) -> Any:
        """Returns a NodeDef with all attributes."""
        if node.name in self._rewritten:
            return node
        copy = v1.NodeDef()
        copy.CopyFrom(node)
        fill_defaults(copy, self._signatures.definition(node.op))
        return copy

    def _connect(self, node: Any) -> None:
        """Casts the inputs of a node whose dtype is no longer the one that it takes."""
        sources = self._graph.inputs(node.name)
        used = any(source.node in self._rewritten for source in sources) and self._signatures.knows(node.op)
        if node.name not in self._wanted and not used:
            return
        expected = self._signatures.inputs(self._complete(node))
        texts = [self._as_dtype(source, base_dtype(dtype)) for source, dtype in zip(sources, expected)]
        if texts != [input_text(source) for source in sources]:
            if node.name not in self._rewritten:
                copy = self._nodes[node.name] = v1.NodeDef()
                copy.CopyFrom(node)
                node = copy
            node.input[:] = texts + control_inputs(node)

    def _connect_entrances(self, node: Any, entrances: List[Any]) -> None:
        for source, entrance in zip(self._graph.inputs(node.name), entrances):
            entrance.input.insert(0, self._as_dtype(source, entrance.attr["T"].type))

    def _as_dtype(self, tensor: TensorId, dtype: int) -> str:
        """Returns the text of a tensor as an input of `dtype`: its own, or that of its cast."""
        have = self._dtype(tensor)
        floats = (*WIDER, *WIDER.values())
        if have == dtype or have not in floats or dtype not in floats:
            return input_text(tensor)
        to_double = dtype in WIDER.values()
        cast = TensorId(f"{tensor.node}/output_{tensor.output}_as_{tf.as_dtype(dtype).name}", 0)
        if cast not in self._dtypes:
            made = v1.NodeDef(name=cast.node, op="Cast", input=[input_text(tensor)])
            made.device = self._nodes[tensor.node].device
            made.attr["SrcT"].type, made.attr["DstT"].type = have, dtype
            self._extra.append(made)
            self._dtypes[cast] = dtype
            if to_double:
                self._casts[tensor] = cast
        return input_text(cast)
