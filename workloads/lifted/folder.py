"""The folder that holds a lift: plan, graph, variables' values, and batches where made-up ones do not run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tensorflow as tf
from google.protobuf import message

from workloads.lifted import PLAN, VALUES, checkpoint, is_lift_folder
from workloads.lifted.graph import Graph
from workloads.lifted.graph.default_attributes import add_default_attributes, strip_default_attributes
from workloads.lifted.graph.graph_check import require_sound_graph
from workloads.lifted.graph.tensor_names import forget_empty_attributes
from workloads.lifted.plan import FORMAT, Plan
from workloads.lifted.plan.plan_check import require_plan_of_graph
from workloads.lifted.shapes import fits
from workloads.support.errors import InputError, require
from workloads.support.files import input_files, unfinished
from workloads.support.files.array_archive import ArrayArchive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workloads.program import Arrays

v1 = tf.compat.v1

GRAPH, BATCHES = "graph.pb", "batches.npz"
#: The most bytes of the plan, of the graph, and of the batches.
MOST_PLAN, MOST_GRAPH, MOST_BATCHES = 256 << 20, 1 << 30, 64 << 20


class LiftContent(NamedTuple):
    """The content of a lift's folder, but for the values of the variables.

    Attributes:
      plan: the plan.
      graph: index of the graph.
      digest: twelve hex digits of both; two lifts of one program have the same.
    """

    plan: Plan
    graph: Graph
    digest: str


def read_lift(folder: str) -> LiftContent:
    """Reads plan and graph of a lift.

    Raises:
      InputError: the folder's files are missing or damaged.
    """
    subject = f"--workload: {folder!r} is damaged, or not a lift"
    try:
        content = json.loads(input_files.read_bytes(os.path.join(folder, PLAN), subject, MOST_PLAN).decode("utf-8"))
        graph_bytes = input_files.read_bytes(os.path.join(folder, GRAPH), subject, MOST_GRAPH)
        require(isinstance(content, dict), "--workload", folder, f"{PLAN} must hold an object")
        require(content.get("format") == FORMAT, "--workload", folder, f"expected a lift of format {FORMAT}")
        require(
            content.pop("graph_digest") == hashlib.sha256(graph_bytes).hexdigest(),
            "--workload",
            folder,
            f"{GRAPH} is not the graph that {PLAN} was made for; lift again",
        )
        plan = Plan.from_json(content)
        graph_def = v1.GraphDef.FromString(graph_bytes)
        add_default_attributes(graph_def)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, message.DecodeError) as error:
        raise InputError(f"{subject}: {error}") from error
    graph = require_sound_graph(graph_def, subject)
    require_plan_of_graph(plan, graph, f"{subject}: {PLAN}")
    digest = hashlib.sha256(graph_bytes + json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()[:12]
    return LiftContent(plan, graph, digest)


def read_values(folder: str) -> Arrays:
    """Returns {variable: array} of a lift's checkpoint."""
    return checkpoint.read_checkpoint(os.path.join(folder, VALUES))


def read_batches(folder: str, plan: Plan) -> list[Arrays]:
    """Returns the batches that a lift keeps, see `OwnExamples`; [] for the most lifts, which keep none.

    Raises:
      InputError: the file is missing or damaged, or not what the plan says.
    """
    if not plan.own_batches:
        return []
    subject = f"--workload: {folder!r} is damaged: {BATCHES}"
    path = os.path.join(folder, BATCHES)
    input_files.require_regular(path, subject)
    archive = ArrayArchive(path, subject, MOST_BATCHES)
    batches = []
    for number in range(plan.own_batches):
        batch = {}
        for entry in plan.inputs + plan.common:
            array, shape = archive.array(f"{number}/{entry.name}"), entry.shape
            found = (
                f"{BATCHES} holds {array.dtype} {list(array.shape)} for {entry.name!r}, expected {entry.dtype} {shape}"
            )
            require(fits(array.shape, shape) and array.dtype.kind not in "US", "--workload", folder, found)
            batch[entry.name] = array.astype(entry.dtype)
        batches.append(batch)
    return batches


def write_lift(
    folder: str, plan: Plan, graph_def: Any, values: Mapping[str, Any], batches: Sequence[Mapping[str, np.ndarray]] = ()
) -> None:
    """Writes a lift: first beside `folder`, then in its place.

    Args:
      folder: where to; replaces a lift that is there.
      plan: the plan.
      graph_def: the GraphDef.
      values: {variable: array}.
      batches: {input: array} of each that the lift keeps, as many as the plan says.

    Raises:
      InputError: `folder` exists and is no lift, is in a folder that does not exist, or cannot be written.
    """
    empty = os.path.isdir(folder) and not os.listdir(folder)
    replaceable = empty or not os.path.exists(folder) or is_lift_folder(folder)
    require(replaceable, "--out", folder, "exists and is not a lift; name another")
    above = os.path.dirname(os.path.abspath(folder))
    require(os.path.isdir(above), "--out", folder, "must be in a folder that exists")
    part, old = folder.rstrip("/\\") + ".part", folder.rstrip("/\\") + ".old"
    shutil.rmtree(part, ignore_errors=True)
    try:
        with unfinished.removed_unless_complete(part):
            os.makedirs(part)
            _write_members(part, plan, graph_def, values)
            if batches:
                arrays: dict[str, Any] = {
                    f"{i}/{name}": value for i, batch in enumerate(batches) for name, value in batch.items()
                }
                np.savez(os.path.join(part, BATCHES), **arrays)
            shutil.rmtree(old, ignore_errors=True)
            if os.path.isdir(folder):
                os.replace(folder, old)
            os.replace(part, folder)
    except OSError as error:
        raise InputError(f"--out: cannot write {folder}: {error.strerror}") from error
    shutil.rmtree(old, ignore_errors=True)


def _write_members(folder: str, plan: Plan, graph_def: Any, values: Mapping[str, Any]) -> None:
    """Writes the files of a lift into `folder`."""
    forget_empty_attributes(graph_def)
    strip_default_attributes(graph_def)  # an older TensorFlow, which may read it, does not know them all
    graph_bytes = graph_def.SerializeToString(deterministic=True)  # so that the same graph has the same digest
    add_default_attributes(graph_def)
    content = dict(plan.to_json(), graph_digest=hashlib.sha256(graph_bytes).hexdigest())
    with open(os.path.join(folder, GRAPH), "wb") as file:
        file.write(graph_bytes)
    with open(os.path.join(folder, PLAN), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    checkpoint.write_by_object(os.path.join(folder, VALUES), values)
