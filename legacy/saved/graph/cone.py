"""From a whole saved graph to the part that one training step runs."""

from __future__ import annotations

import collections
import re

import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, forget_placement, tensor_name
from workloads.support.errors import InputError

v1 = tf.compat.v1


class Cut(collections.namedtuple("Cut", "graph origins unknown unsafe")):
    """The part of a graph that a step runs, ended at its data sources.

    Attributes:
      graph: `Graph`; every output of a data source is a Placeholder in it.
      origins: {placeholder's name: (name of the tensor it stands for, op type that made it)}.
      unknown: op types that this TensorFlow does not have.
      unsafe: {node: op type} that run Python, touch files or reach the network.
    """


def train_ops(graph, trainable=()):
    """What a program may have run to train: {name: set of update ops it runs}, of the ops that nothing else uses."""
    applies = [name for name in graph.nodes if op_types.is_apply(graph.type(name))]
    applies = applies or sorted(op_types.moved_by_gradients(graph, set(trainable)))
    runs = collections.OrderedDict()
    for apply in applies:
        for name in graph.descendants([apply]):
            ended = not graph.users(name) and not graph.after(name)
            if ended and not op_types.is_unsafe(graph.type(name)):
                runs.setdefault(name, set()).add(apply)
    return collections.OrderedDict(sorted(runs.items(), key=lambda item: (-len(item[1]), item[0])))


def choose(graph, asked, trainable=()):
    """The train ops of one step each, in the order in which they are run.

    Args:
      asked: names the user gave, or empty.
      trainable: names of trainable variables, as far as they are known.

    Raises:
      InputError: there is none; there are several and none was asked for; a name is not in the graph.
    """
    if asked:
        for name in asked:
            if name.partition(":")[0] not in graph.nodes:
                raise InputError(
                    f"--train_op: got {name!r}, no such operation in the graph; {_offer(graph, trainable)}"
                )
        return [name.partition(":")[0] for name in asked]
    runs = train_ops(graph, trainable)
    if not runs:
        raise InputError(
            "graph file: no update op (Apply*, ResourceApply*, SparseApply*) in it, so nothing trains; expected a "
            "training graph, not one for inference (or name what to run with --train_op)"
        )
    every = set().union(*runs.values())
    whole = [name for name, applies in runs.items() if applies == every]
    if whole:
        return [max(whole, key=lambda name: (len(graph.ancestors([name])), name))]
    raise InputError(
        "--train_op: the graph has several train ops; name one, or several to be run in turn; "
        + _offer(graph, trainable)
    )


def _offer(graph, trainable):
    listed = [f"{name} ({len(applies)} updates)" for name, applies in list(train_ops(graph, trainable).items())[:8]]
    return "allowed, for instance: " + ", ".join(listed or ["none found"])


def cut(graph, targets):
    """The `Cut` of a graph for running `targets`."""
    stop = {name for name in graph.nodes if op_types.is_source(graph.type(name))}
    members = graph.ancestors(targets, stop)
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    renamed, origins = {}, {}
    for name in graph.nodes:
        if name in members and name in stop:
            for output in sorted({o for user, _, o in graph.users(name) if user in members}):
                placeholder = name if output == 0 else f"{name}__{output}"
                renamed[name, output] = placeholder
                origins[placeholder] = (tensor_name(name, output), graph.type(name))
                result.node.add().CopyFrom(_placeholder(placeholder, graph.nodes[name], output))
    for name, node in graph.nodes.items():
        if name in members and name not in stop:
            copy = result.node.add()
            copy.CopyFrom(node)
            del copy.input[:]
            for producer, output in graph.inputs(name):
                copy.input.append(renamed.get((producer, output)) or _reference(producer, output))
            copy.input.extend("^" + control for control in graph.controls(name) if control not in stop)
    made = Graph(result)
    kinds = {name: node.op for name, node in made.nodes.items()}
    functions = {function.signature.name for function in graph.graph_def.library.function}
    unknown = sorted(kind for kind in set(kinds.values()) if not known(kind) and kind not in functions)
    unsafe = {name: kind for name, kind in kinds.items() if op_types.is_unsafe(kind)}
    for name in members & stop:  # Python in the middle of the model: no data source, and not saved with the graph
        if op_types.is_unsafe(graph.type(name)) and _is_computed(graph, name):
            unsafe[name] = graph.type(name)
    return Cut(made, origins, unknown, unsafe)


def _is_computed(graph, name):
    """Whether a node's inputs depend on variables."""
    return any(graph.type(before) in op_types.VARIABLES for before in graph.ancestors([name], controls=False))


def known(kind):
    """Whether this TensorFlow has an op of that type."""
    return hasattr(tf.raw_ops, kind)


def _reference(producer, output):
    return producer if output == 0 else tensor_name(producer, output)


def _placeholder(name, node, output):
    """A Placeholder with the dtype, and the shape if it is known, of a source's output."""
    placeholder = v1.NodeDef(name=name, op="Placeholder", device=node.device)
    placeholder.attr["dtype"].type = _dtype(node, output)
    shape = _shape(node, output)
    if shape is None:
        placeholder.attr["shape"].shape.unknown_rank = True
    else:
        placeholder.attr["shape"].shape.CopyFrom(shape)
    return placeholder


def _dtype(node, output):
    for attribute in ("component_types", "output_types", "Tout", "dtypes"):
        if node.attr[attribute].list.type:
            return node.attr[attribute].list.type[output]
    for attribute in ("dtype", "Tout"):
        if node.attr[attribute].type:
            return node.attr[attribute].type
    return tf.string.as_datatype_enum


def _shape(node, output):
    """TensorShapeProto, or None. A 0.x Placeholder without a shape says "[]", and its `_output_shapes` the truth."""
    recorded = node.attr["_output_shapes"].list.shape
    if len(recorded) > output:
        return None if recorded[output].unknown_rank else recorded[output]
    shapes = node.attr["output_shapes"].list.shape or node.attr["shapes"].list.shape
    if len(shapes) > output and not node.op.startswith("Queue"):
        return None if shapes[output].unknown_rank else shapes[output]
    if node.attr["shape"].HasField("shape") and (node.attr["shape"].shape.dim or node.op == "PlaceholderV2"):
        return None if node.attr["shape"].shape.unknown_rank else node.attr["shape"].shape
    return None


def without_placement(graph):
    """A GraphDef like a graph's, for this machine to place."""
    plain = v1.GraphDef()
    plain.CopyFrom(graph.graph_def)
    for node in plain.node:
        forget_placement(node)
    return plain


class Imported:
    """The cut graph as TensorFlow sees it: shapes, dtypes and op definitions.

    Raises:
      InputError: TensorFlow does not take the graph; says why.
    """

    def __init__(self, cut_graph):
        plain = without_placement(cut_graph)
        self.tf_graph = tf.Graph()
        try:
            with self.tf_graph.as_default():
                tf.import_graph_def(plain, name="")
        except (ValueError, tf.errors.OpError) as error:
            reason = re.sub(r"\s+", " ", str(error))[:300]
            raise InputError(f"graph file: TensorFlow {tf.__version__} does not take this graph: {reason}")

    def shape(self, name, output=0):
        """Tuple with None for unknown dimensions; None for an unknown rank."""
        shape = self._operation(name).outputs[output].shape
        return None if shape.rank is None else tuple(shape.as_list())

    def dtype(self, name, output=0):
        """The base dtype's name, e.g. "float32"."""
        return self._operation(name).outputs[output].dtype.base_dtype.name

    def outputs(self, name):
        """How many outputs a node has."""
        return len(self._operation(name).outputs)

    def definition(self, name):
        """The OpDef."""
        return self._operation(name).op_def

    def takes_reference(self, name, position):
        """Whether a node's data input wants a reference to a variable, or its handle."""
        dtype = self._operation(name).inputs[position].dtype
        if dtype == tf.resource:
            return True
        return dtype._is_ref_dtype and _wants_reference(self.definition(name), position)

    def _operation(self, name):
        return self.tf_graph.get_operation_by_name(name)


def _wants_reference(definition, position):
    """Whether input number `position` is declared a reference; list inputs come last in ops that have both."""
    arguments = definition.input_arg
    return position < len(arguments) and arguments[position].is_ref


def require_known(cut_graph):
    """Raises `InputError` naming the op types that this TensorFlow does not have."""
    if cut_graph.unknown:
        raise InputError(
            "graph file: TensorFlow {} has no op {}; a graph that needs it cannot be run here".format(
                tf.__version__, ", ".join(cut_graph.unknown)
            )
        )
