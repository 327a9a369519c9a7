"""Damages to graphs: their nodes, attributes, functions and collections, with a lift's digest made right again."""

from __future__ import annotations

import hashlib
import json
import pathlib
import random
from collections.abc import Callable
from typing import Any


def damage_graph(path: pathlib.Path, rng: random.Random) -> str:
    """Changes nodes, attributes, functions or collections of a graph; a lift's digest of it is made right."""
    import tensorflow as tf

    v1 = tf.compat.v1
    meta = v1.MetaGraphDef()
    if path.name.endswith(".pb"):
        meta.graph_def.MergeFromString(path.read_bytes())
    else:
        meta.MergeFromString(path.read_bytes())
    told = "; ".join(odd_graph(meta, rng) for _ in range(rng.choice([1, 1, 1, 3])))
    if path.name.endswith(".pb"):
        path.write_bytes(meta.graph_def.SerializeToString())
        plan = path.with_name("workload.json")
        content = json.loads(plan.read_text())
        content["graph_digest"] = hashlib.sha256(path.read_bytes()).hexdigest()
        plan.write_text(json.dumps(content))
    else:
        path.write_bytes(meta.SerializeToString())
    return f"{path.name}: {told}"


def odd_graph(meta: Any, rng: random.Random) -> str:
    """Changes one thing in a MetaGraphDef; returns what was done."""
    nodes = list(meta.graph_def.node)
    node, other = rng.choice(nodes), rng.choice(nodes)
    way = rng.choice(
        ["input", "input", "no input", "more inputs", "op", "name", "attribute", "attribute", "no attribute", "kind",
         "tensor", "shape", "function", "remove", "duplicate", "device", "collection", "copy"]
    )  # fmt: skip
    told = f"{way} of {node.name!r}"
    if way in _OF_NODE:
        _OF_NODE[way](node, other, rng)
    elif way in ("attribute", "no attribute", "kind", "copy"):
        told += _odd_attributes(node, nodes, way, rng)
    elif way == "tensor":
        constants = [n for n in nodes if n.op == "Const"]
        if constants:
            odd_tensor(rng.choice(constants).attr["value"].tensor, rng)
    elif way == "function":
        _add_function(meta, node, rng)
    elif way == "remove":
        meta.graph_def.node.remove(node)
    elif way == "duplicate":
        meta.graph_def.node.add().CopyFrom(node)
    else:
        _odd_collection(meta, rng)
    return told


def _odd_input(node: Any, other: Any, rng: random.Random) -> None:
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(
            ["x:x", "x:", "", "^", ":0", other.name, other.name + ":1", other.name + ":7", "^" + other.name, node.name,
             "missing", "a:b:c", other.name + ":99999999999"]
        )  # fmt: skip


def _no_input(node: Any, other: Any, rng: random.Random) -> None:
    del node.input[:]


def _more_inputs(node: Any, other: Any, rng: random.Random) -> None:
    node.input.extend([other.name] * rng.choice([1, 3]))


def _odd_op(node: Any, other: Any, rng: random.Random) -> None:
    node.op = rng.choice(
        [other.op, "Placeholder", "NoOp", "Const", "While", "NoSuchOp", "Switch", "Merge", "Enter", ""]
    )


def _odd_name(node: Any, other: Any, rng: random.Random) -> None:
    node.name = rng.choice([other.name, "", "a b", "\u00e9", "../x", "x:0", "^x", "_x"])


def _odd_shapes(node: Any, other: Any, rng: random.Random) -> None:
    for value in node.attr.values():
        if value.HasField("shape"):
            value.shape.dim.add(size=rng.choice([-5, 0, 1 << 40, 1 << 62]))


def _odd_device(node: Any, other: Any, rng: random.Random) -> None:
    node.device = rng.choice(["/gpu:99999999999999999999", "/job:x/gpu:1", "\u00e9", "/gpu:-1", "/gpu:7"])


#: {way: function that changes a node; another node of the graph gives it names}.
_OF_NODE: dict[str, Callable[[Any, Any, random.Random], None]] = {
    "input": _odd_input,
    "no input": _no_input,
    "more inputs": _more_inputs,
    "op": _odd_op,
    "name": _odd_name,
    "shape": _odd_shapes,
    "device": _odd_device,
}


def _odd_attributes(node: Any, nodes: list[Any], way: str, rng: random.Random) -> str:
    """Removes, copies or changes an attribute of a node; returns its name."""
    if not node.attr:
        return ""
    key = rng.choice(sorted(node.attr))
    if way == "no attribute":
        del node.attr[key]
    elif way == "copy":
        source = rng.choice([n for n in nodes if n.attr])
        node.attr[key].CopyFrom(source.attr[rng.choice(sorted(source.attr))])
    else:
        odd_attribute(node.attr[key], rng, way == "kind")
    return f" {key!r}"


def _add_function(meta: Any, node: Any, rng: random.Random) -> None:
    """Adds a function that calls itself or another one; perhaps the node calls it."""
    function = meta.graph_def.library.function.add()
    function.signature.name = rng.choice(["f", node.op])
    call = function.node_def.add(name="call", op=rng.choice(["f", node.op, "PartitionedCall"]))
    call.attr["f"].func.name = "f"
    if rng.random() < 0.5:
        node.op = "f"


def _odd_collection(meta: Any, rng: random.Random) -> None:
    name = rng.choice(sorted(meta.collection_def) or ["variables"])
    collection = meta.collection_def[rng.choice([name, "trainable_variables", "variables", "train_op"])]
    collection.bytes_list.value.append(rng.choice([b"\xff\xff", b"", b"\x0a\x03x:0", b"\x0a\x01\xff"]))


def odd_attribute(value: Any, rng: random.Random, other_kind: bool) -> None:
    """Changes the value of an attribute, or its kind."""
    kind = value.WhichOneof("value")
    if other_kind:
        kind = rng.choice(["s", "i", "f", "b", "type", "shape", "tensor", "func", "list"])
    if kind == "i":
        value.i = rng.choice([-1, 0, 1, 7, 1 << 31, (1 << 63) - 1, -(1 << 63)])
    elif kind == "f":
        value.f = rng.choice([0.0, -1.0, float("nan"), float("inf")])
    elif kind == "type":
        value.type = rng.choice([0, 1, 2, 3, 7, 9, 10, 14, 20, 21, 23, 101, 103, 107])
    elif kind == "s":
        value.s = rng.choice([b"", b"x", b"\xff", b"SAME", b"NCHW"])
    elif kind == "b":
        value.b = not value.b
    elif kind == "shape":
        value.shape.dim.add(size=rng.choice([-1, 0, 3, 1 << 40]))
    elif kind == "tensor":
        odd_tensor(value.tensor, rng)
    elif kind == "func":
        value.func.name = rng.choice(["f", "missing", ""])
    elif kind == "list":
        value.list.i.extend([rng.choice([-1, 1 << 60])])


def odd_tensor(tensor: Any, rng: random.Random) -> None:
    """Changes the dtype, the shape or the content of a constant."""
    way = rng.choice(["dtype", "huge", "negative", "content", "values", "bomb"])
    if way == "dtype":
        tensor.dtype = rng.choice([0, 1, 2, 3, 7, 9, 10, 19, 20, 21])
    elif way == "huge":
        tensor.tensor_shape.dim.add(size=1 << 40)
    elif way == "bomb":
        tensor.tensor_shape.dim.add(size=1 << 30)
    elif way == "negative":
        tensor.tensor_shape.dim.add(size=-3)
    elif way == "content":
        tensor.tensor_content = rng.randbytes(rng.choice([0, 1, 4, 5, 64]))
    else:
        tensor.float_val.extend([1.0] * rng.choice([1, 100]))
        tensor.int_val.extend([-7])
