"""Sound files of every kind that a command reads, small: what the fuzzing damages."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import shutil
import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests import old_programs
from tests.legacy.rerun.recordings import small_steps, write_recording
from tests.small_lift import small_lift
from workloads.data import cifar10, idx
from workloads.lifted import checkpoint
from workloads.records import writer

#: Old programs whose graphs are damaged: short ones, and one with loops.
GRAPHS = ("a_split_sgd", "f_sum_clip_after", "g_embedding_adagrad", "h_dynamic_rnn")
#: Those that `--source` can write.
WRITTEN = ("a_split_sgd", "f_sum_clip_after", "h_dynamic_rnn")
#: Name of the sound recording that a damaged one is compared with.
SOUND = "sound.npz"


class Kind(NamedTuple):
    """A kind of input.

    Attributes:
      write: writes sound files to a folder; takes the folder and a number that chooses among several.
      damaged: the files, relative to the folder, of which one is damaged; a pattern.
      command: arguments of `python -m` that read them; {folder} stands for the folder, {out} for a place to write to.
      pure: whether it is read by Python and numpy alone, so that no input can end the process.
    """

    write: Callable[[pathlib.Path, int], None]
    damaged: str
    command: tuple[str, ...]
    pure: bool = False


def write_recordings(folder: pathlib.Path, choice: int) -> None:
    """Writes two recordings of one loop."""
    for name, factor in ((SOUND, 1.0), ("damaged.npz", 1.5)):
        weight = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2)
        state = {"w": weight, "b": weight[0]}
        slots = {f"{key}/momentum": np.zeros_like(value) for key, value in state.items()}
        job = {"optimizer": "Momentum(momentum=0.9, nesterov=False)"}
        with writer.Recorder(str(folder / name), 2, state, slots, {"bn/mean": weight[0]}, state, 4, job) as recorder:
            for step in range(3):
                gradients = [{key: value * np.float32(0.1 + k) for key, value in state.items()} for k in range(2)]
                combined = {key: sum(g[key] for g in gradients) / np.float32(2) for key in state}
                state = {key: value - np.float32(0.1 * factor) * combined[key] for key, value in state.items()}
                recorder.step(
                    losses=np.float32([1.0, 2.0]),
                    weights=state,
                    slots={f"{key}/momentum": value for key, value in combined.items()},
                    statistics={"bn/mean": state["b"]},
                    averages=state,
                    gradients=gradients,
                    combined=combined,
                    rate=0.1,
                    batches=[{"x": np.arange(2) + step}] * 2,
                    masks=[{"dropout": np.array([True, False])}] * 2,
                    proposals=[{"bn/mean": state["b"]}] * 2,
                    drift=["bn/mean"] if step else [],
                )


def write_recorder_folder(folder: pathlib.Path, choice: int) -> None:
    """Writes a lift and the recording of its original run."""
    small_lift(str(folder / "lift"))
    write_recording(folder / "run", small_steps(2))


def write_graph(folder: pathlib.Path, choice: int) -> None:
    """Writes a graph file of an old program, in binary or as text."""
    shutil.copy(old_programs.path(GRAPHS[choice % len(GRAPHS)], "graph.meta"), folder)


def write_decompiled_graph(folder: pathlib.Path, choice: int) -> None:
    """Writes a graph file of an old program whose source can be written."""
    shutil.copy(old_programs.path(WRITTEN[choice % len(WRITTEN)], "graph.meta"), folder)


def write_graph_with_functions(folder: pathlib.Path, choice: int) -> None:
    """Writes a graph as text, with a function library."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with open(old_programs.path("f_sum_clip_after", "graph.meta"), "rb") as file:
        meta = v1.MetaGraphDef.FromString(file.read())
    for name, callee in (("f", "g"), ("g", "h")):
        function = meta.graph_def.library.function.add()
        function.signature.name = name
        function.node_def.add(name="call", op="PartitionedCall").attr["f"].func.name = callee
    (folder / "graph.pbtxt").write_text(str(meta))


def write_lift(folder: pathlib.Path, choice: int) -> None:
    """Writes a lifted folder."""
    small_lift(str(folder / "lift"))


def write_checkpoint(folder: pathlib.Path, choice: int) -> None:
    """Writes a checkpoint by name or by object."""
    values = {"w": np.float32([1, 2, 3]), "step": np.int64(7), "about": np.array("text", object)}
    (checkpoint.write_by_object if choice % 2 else checkpoint.write_by_name)(str(folder / "model.ckpt"), values)


def write_training_checkpoint(folder: pathlib.Path, choice: int) -> None:
    """Writes a checkpoint folder of the workload "regression" as a run leaves it, made once."""
    shutil.copytree(os.environ["FUZZ_CHECKPOINTS"], folder / "checkpoints")


def write_cifar(folder: pathlib.Path, choice: int) -> None:
    """Writes the five files of CIFAR-10, two images each."""
    for name in cifar10.FILES:
        (folder / name).write_bytes((bytes([3]) + bytes(range(256)) * 12) * 2)


def write_idx(folder: pathlib.Path, choice: int) -> None:
    """Writes MNIST's files, plain or gzipped."""
    for name, shape in ((idx.IMAGES, (4, 28, 28)), (idx.LABELS, (4,))):
        content = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + bytes(int(np.prod(shape)))
        if choice % 2:
            (folder / (name + ".gz")).write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


def write_arrays(folder: pathlib.Path, choice: int) -> None:
    """Writes a lift, and data for it."""
    small_lift(str(folder / "lift"))
    save = np.savez_compressed if choice % 2 else np.savez
    save(folder / "data.npz", x=np.arange(8, dtype=np.float32))


def write_cluster(folder: pathlib.Path, choice: int) -> None:
    """Writes the text of TF_CONFIG."""
    cluster = {"worker": ["127.0.0.1:20001", "127.0.0.1:20002"]}
    (folder / "tf_config").write_text(json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}}))


_RECORDED = ("parity.verify", "--workload={folder}/lift", "--recording={folder}/run")

KINDS: dict[str, Kind] = {
    "recording": Kind(
        write_recordings,
        "damaged.npz",
        ("parity.diagnose", "--left={folder}/sound.npz", "--right={folder}/damaged.npz"),
        True,
    ),
    "left recording": Kind(
        write_recordings,
        "damaged.npz",
        ("parity.diagnose", "--right={folder}/sound.npz", "--left={folder}/damaged.npz"),
        True,
    ),
    "recorder folder": Kind(write_recorder_folder, "run/*", _RECORDED),
    "graph": Kind(write_graph, "graph.meta", ("legacy.inspect", "{folder}/graph.meta")),
    "graph to lift": Kind(write_graph, "graph.meta", ("legacy.lift", "{folder}/graph.meta", "--out={out}")),
    "graph to source": Kind(
        write_decompiled_graph, "graph.meta", ("legacy.lift", "{folder}/graph.meta", "--source={out}.py")
    ),
    "graph as text": Kind(write_graph_with_functions, "graph.pbtxt", ("legacy.inspect", "{folder}/graph.pbtxt")),
    "lift": Kind(write_lift, "lift/*", ("parity.verify", "--workload={folder}/lift", "--steps=2")),
    "checkpoint": Kind(write_checkpoint, "model.ckpt.*", ("legacy.convert", "{folder}/model.ckpt", "--out={out}")),
    "training checkpoint": Kind(
        write_training_checkpoint,
        "checkpoints/*/*",
        ("modern.train", "--workload=regression", "--steps=3", "--checkpoint_dir={folder}/checkpoints"),
    ),
    "cifar": Kind(write_cifar, "*.bin", ("tests.fuzz.readers", "data_dir", "{folder}"), True),
    "idx": Kind(write_idx, "train-*", ("tests.fuzz.readers", "data_dir", "{folder}"), True),
    "arrays": Kind(
        write_arrays, "data.npz", ("tests.fuzz.readers", "data", "{folder}/data.npz", "{folder}/lift"), True
    ),
    "TF_CONFIG": Kind(write_cluster, "tf_config", ("tests.fuzz.readers", "cluster", "{folder}/tf_config"), True),
}
