"""Damages to files: of their bytes, and of what they mean, with checksums and digests made right again."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import pathlib
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from workloads.records.writer import DIGEST

#: Values of every type of JSON, and of sizes that programs do not expect.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 0.5, -1e308, float("nan"), float("inf"), "", "x", "x:x", "^x",
    "x:999999", "\u0000", "\ud800", "a" * 5000, [], {}, [[]], [None], ["x"], {"x": 1}, [[[[1]]]], "../../x", "float32",
)  # fmt: skip
#: Arrays of other types and shapes than a recording has.
ODD_ARRAYS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda a: a.astype(np.float64) if a.dtype.kind in "fiu" else a,
    lambda a: a.astype(np.float16) if a.dtype.kind in "fiu" else a,
    lambda a: a.astype(">f4") if a.dtype.kind in "fiu" else a,
    lambda a: a.astype(np.int32) if a.dtype.kind in "fiu" else a,
    lambda a: a.astype("U8"),
    lambda a: a.astype("S8") if a.dtype.kind != "U" else a,
    lambda a: a.astype(np.complex64) if a.dtype.kind in "fiu" else a,
    lambda a: a.astype("M8[s]") if a.dtype.kind in "iu" else a,
    lambda a: np.zeros(a.shape, [("x", "f4")]),
    lambda a: a[None],
    lambda a: a.ravel()[:1],
    lambda a: a.ravel()[:0],
    lambda a: a.reshape(a.shape + (1,) * 20),
    lambda a: np.zeros((0, 2**40), a.dtype),
    lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a,
    lambda a: np.full_like(a, np.inf) if a.dtype.kind == "f" else a,
    lambda a: np.full_like(a, 3e38) if a.dtype.kind == "f" else a,
)


def damage(path: pathlib.Path, rng: random.Random) -> str:
    """Damages a file in one way, chosen by `rng`; returns what was done."""
    ways: list[Callable[[pathlib.Path, random.Random], str]] = [damage_bytes]
    name = path.name
    if name.endswith(".npz"):
        ways += [damage_recording] * 4 if _is_recording(path) else [damage_archive] * 2
    elif name.endswith(".zip"):
        ways += [damage_steps] * 4
    elif name.endswith(".json"):
        ways += [damage_json] * 6
    elif name == "tf_config":
        ways += [damage_json] * 3
    elif name.endswith((".meta", ".pb")):
        ways += [damage_graph] * 6
    elif name.endswith(".gz"):
        ways += [make_bomb]
    elif name.startswith("train-"):
        ways += [damage_header]
    return rng.choice(ways)(path, rng)


def damage_bytes(path: pathlib.Path, rng: random.Random) -> str:
    """Truncates the file, or flips, inserts, removes, repeats or replaces bytes."""
    data = bytearray(path.read_bytes())
    place, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    way = rng.choice(["truncate", "empty", "flip", "insert", "remove", "repeat", "zero", "random", "text"])
    if way == "truncate":
        del data[place:]
    elif way == "empty":
        data.clear()
    elif way == "flip":
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            if data:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif way == "insert":
        data[place:place] = rng.randbytes(rng.choice([1, 4, 100]))
    elif way == "remove":
        del data[place : min(end, place + 100)]
    elif way == "repeat":
        data[place:place] = data[place:end]
    elif way == "zero":
        data[place:end] = bytes(end - place)
    elif way == "random":
        data = bytearray(rng.randbytes(len(data)))
    else:
        data[place:place] = rng.choice([b"[" * 100000, b"{" * 5000, b"\xff\xfe", b"node { attr { " * 3000])
    path.write_bytes(bytes(data))
    return f"bytes of {path.name}: {way}"


def damage_json(path: pathlib.Path, rng: random.Random) -> str:
    """Replaces, removes or adds something in JSON; a lift's other files still have the right digest."""
    content = json.loads(path.read_text())
    told = odd_json(content, rng)
    path.write_text(json.dumps(content))
    return f"{path.name}: {told}"


def odd_json(content: Any, rng: random.Random) -> str:
    """Changes one entry, at any depth, of a list or an object; returns what was done."""
    places = [(content, key) for key in _keys(content)]
    for place, key in places:
        if isinstance(place[key], (list, dict)):
            places += [(place[key], below) for below in _keys(place[key])]
    if not places:
        return "nothing"
    place, key = rng.choice(places)
    way = rng.choice(["replace", "replace", "replace", "remove", "swap", "nest", "wrap"])
    told = f"{way} {str(key)[:40]!r}"
    if way == "replace":
        place[key] = rng.choice(ODD_VALUES)
        told += f" by {str(place[key])[:40]!r}"
    elif way == "remove":
        del place[key]
    elif way == "swap":
        other, other_key = rng.choice(places)
        if isinstance(place[key], (str, int, type(None))) and other_key in _keys(other):
            place[key] = other[other_key] if not isinstance(other[other_key], (list, dict)) else str(other_key)
    elif way == "nest":
        deep: Any = place[key]
        for _ in range(500):
            deep = [deep]
        place[key] = deep
    else:
        place[key] = [place[key]]
    return told


def _keys(content: Any) -> list[Any]:
    return (
        list(content) if isinstance(content, dict) else list(range(len(content))) if isinstance(content, list) else []
    )


def _is_recording(path: pathlib.Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return "manifest.npy" in archive.namelist()


def damage_recording(path: pathlib.Path, rng: random.Random) -> str:
    """Changes the members of a recording; its checksum is right."""
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    if rng.random() < 0.4:
        manifest = json.loads(str(members["manifest"]))
        told = "manifest: " + odd_json(manifest, rng)
        members["manifest"] = np.array(json.dumps(manifest).encode("ascii").decode("ascii"))
    else:
        told = odd_members(members, rng)
    with zipfile.ZipFile(path, "w", rng.choice([zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED])) as archive:
        for name, array in members.items():
            archive.writestr(name + ".npy", _npy(array))
        archive.comment = b"0" * DIGEST
    content = path.read_bytes()
    path.write_bytes(content[:-DIGEST] + hashlib.sha256(content[:-DIGEST]).hexdigest().encode("ascii"))
    return f"{path.name}: {told}"


def odd_members(members: dict[str, np.ndarray], rng: random.Random) -> str:
    """Changes, renames, removes or swaps arrays; returns what was done."""
    name = rng.choice(sorted(members))
    way = rng.choice(["change", "change", "change", "all", "rename", "remove", "swap"])
    if way == "change":
        members[name] = rng.choice(ODD_ARRAYS)(members[name])
    elif way == "all":
        change = rng.choice(ODD_ARRAYS)
        part = name.split("/")[1] if "/" in name else name
        for other in members:
            if part in other.split("/"):
                members[other] = change(members[other])
        name = part
    elif way == "rename":
        members[rng.choice(["x", name + "x", "../" + name, name.replace("0", "7"), ""])] = members.pop(name)
    elif way == "remove":
        del members[name]
    else:
        other = rng.choice(sorted(members))
        members[name], members[other] = members[other], members[name]
    return f"{way} {name!r}"


def damage_archive(path: pathlib.Path, rng: random.Random) -> str:
    """Changes the members of an archive of arrays, or makes it a bomb."""
    with np.load(path) as file:
        members = {name: file[name] for name in file.files}
    if rng.random() < 0.2:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", _npy(np.zeros(0))[:-6].replace(b"(0,)", b"(9,)") + bytes(8 << 20))
        return "a member that expands"
    told = odd_members(members, rng)
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in members.items():
            archive.writestr(name + ".npy", _npy(array))
    return told


def damage_steps(path: pathlib.Path, rng: random.Random) -> str:
    """Changes the arrays of one step of a recorder's folder."""
    with zipfile.ZipFile(path) as archive:
        steps = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(steps))
    with np.load(io.BytesIO(steps[name])) as file:
        members = {member: file[member] for member in file.files}
    told = odd_members(members, rng)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for member, array in members.items():
            archive.writestr(member + ".npy", _npy(array))
    steps[name] = content.getvalue() if rng.random() < 0.9 else bytes(8 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, step in steps.items():
            archive.writestr(member, step)
    return f"{name}: {told}"


def _npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=True)
    return content.getvalue()


def make_bomb(path: pathlib.Path, rng: random.Random) -> str:
    """Replaces a gzip file by one that expands to much more, of the same header or of a huge one."""
    header = gzip.decompress(path.read_bytes())[:16]
    if rng.random() < 0.5:
        header = header[:4] + b"\xff" * 12
    path.write_bytes(gzip.compress(header) + _compressed_zeros())  # two members, which are read as one content
    return "a file that expands to 256 MiB"


@functools.lru_cache(maxsize=None)
def _compressed_zeros() -> bytes:
    return gzip.compress(bytes(256 << 20), compresslevel=1)


def damage_header(path: pathlib.Path, rng: random.Random) -> str:
    """Changes the sizes that an IDX file declares."""
    data = bytearray(path.read_bytes())
    place = rng.randrange(4, 16)
    data[place : place + 4] = rng.choice([b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4), b"\x00\x00\x00\x05"])
    path.write_bytes(bytes(data))
    return f"header of {path.name}"


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
    if way == "input" and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(
            ["x:x", "x:", "", "^", ":0", other.name, other.name + ":1", other.name + ":7", "^" + other.name, node.name,
             "missing", "a:b:c", other.name + ":99999999999"]
        )  # fmt: skip
    elif way == "no input":
        del node.input[:]
    elif way == "more inputs":
        node.input.extend([other.name] * rng.choice([1, 3]))
    elif way == "op":
        node.op = rng.choice(
            [other.op, "Placeholder", "NoOp", "Const", "While", "NoSuchOp", "Switch", "Merge", "Enter", ""]
        )
    elif way == "name":
        node.name = rng.choice([other.name, "", "a b", "\u00e9", "../x", "x:0", "^x", "_x"])
    elif way in ("attribute", "no attribute", "kind", "copy") and node.attr:
        key = rng.choice(sorted(node.attr))
        if way == "no attribute":
            del node.attr[key]
        elif way == "copy":
            source = rng.choice([n for n in nodes if n.attr])
            node.attr[key].CopyFrom(source.attr[rng.choice(sorted(source.attr))])
        else:
            odd_attribute(node.attr[key], rng, way == "kind")
        told += f" {key!r}"
    elif way == "tensor":
        constants = [n for n in nodes if n.op == "Const"]
        if constants:
            node = rng.choice(constants)
            odd_tensor(node.attr["value"].tensor, rng)
    elif way == "shape":
        for value in node.attr.values():
            if value.HasField("shape"):
                value.shape.dim.add(size=rng.choice([-5, 0, 1 << 40, 1 << 62]))
    elif way == "function":
        function = meta.graph_def.library.function.add()
        function.signature.name = rng.choice(["f", node.op])
        call = function.node_def.add(name="call", op=rng.choice(["f", node.op, "PartitionedCall"]))
        call.attr["f"].func.name = "f"
        if rng.random() < 0.5:
            node.op = "f"
    elif way == "remove":
        meta.graph_def.node.remove(node)
    elif way == "duplicate":
        meta.graph_def.node.add().CopyFrom(node)
    elif way == "device":
        node.device = rng.choice(["/gpu:99999999999999999999", "/job:x/gpu:1", "\u00e9", "/gpu:-1", "/gpu:7"])
    elif way == "collection":
        name = rng.choice(sorted(meta.collection_def) or ["variables"])
        collection = meta.collection_def[rng.choice([name, "trainable_variables", "variables", "train_op"])]
        collection.bytes_list.value.append(rng.choice([b"\xff\xff", b"", b"\x0a\x03x:0", b"\x0a\x01\xff"]))
    return told


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
