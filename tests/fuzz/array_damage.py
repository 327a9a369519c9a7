"""Damages to files of arrays: recordings, with their checksum made right again, recorders' folders and data."""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
import random
import zipfile
from collections.abc import Callable

import numpy as np

from tests.fuzz.json_damage import odd_json
from workloads.records.writer import DIGEST

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


def is_recording(path: pathlib.Path) -> bool:
    """Returns whether an archive is a recording, and not data."""
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
