"""Checkpoints of both eras: by name, as 1.x writes them, and by object, as 2.x does. Values travel as arrays."""

from __future__ import annotations

import os
import re

import numpy as np
import tensorflow as tf

from workloads.support.errors import InputError, require

v1 = tf.compat.v1

#: How `tf.train.Checkpoint` names the values of a dictionary called "values".
PREFIX, SUFFIX = "values/", "/.ATTRIBUTES/VARIABLE_VALUE"
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def read(path):
    """{name: array} of a checkpoint of either era, variables' own names.

    Args:
      path: as the saver gave it, e.g. model.ckpt-1000; its .index or .data file, or a 1.x single file, do too.

    Raises:
      InputError: there is no checkpoint, or it is damaged.
    """
    for ending in (".index", ".meta"):
        if path.endswith(ending):
            path = path[: -len(ending)]
    path = path.partition(".data-")[0]
    try:
        reader = tf.train.load_checkpoint(path)
        names = reader.get_variable_to_shape_map()
        values = {name: reader.get_tensor(name) for name in names if name != OBJECT_GRAPH}
    except (tf.errors.OpError, ValueError, LookupError, TypeError, RuntimeError, MemoryError) as error:
        raise InputError(f"checkpoint: cannot read {path!r}: {str(error).splitlines()[0][:200]}")
    if OBJECT_GRAPH not in names:
        return values
    values = {n: v for n, v in values.items() if n.startswith(PREFIX) and n.endswith(SUFFIX)}
    return {_unescape(name[len(PREFIX) : -len(SUFFIX)]): value for name, value in values.items()}


def is_object_based(path):
    """Whether a checkpoint was written by `tf.train.Checkpoint`."""
    return OBJECT_GRAPH in tf.train.load_checkpoint(path).get_variable_to_shape_map()


def write(path, values):
    """Writes {name: array} as an object-based checkpoint, of `tf.train.Checkpoint(values={name: variable})`."""
    require(tf.__version__[0] != "1", "checkpoint", path, f"TensorFlow {tf.__version__} writes none by object")
    with tf.init_scope(), tf.device("/cpu:0"):
        made = {name: tf.Variable(value, dtype=_dtype(value), trainable=False) for name, value in values.items()}
        tf.train.Checkpoint(values=made).write(path + ".part")
    _rename(path)


def write_by_name(path, values):
    """Writes {name: array} as 1.x's Saver would: every 1.x program that has variables of these names can restore it."""
    names = sorted(values)
    require(names, "checkpoint", path, "there is nothing to write")
    with tf.Graph().as_default(), v1.Session() as session:
        holders = [v1.placeholder(_dtype(values[name]), np.shape(values[name])) for name in names]
        save = tf.raw_ops.SaveV2(
            prefix=tf.constant(os.path.abspath(path) + ".part"),
            tensor_names=tf.constant(names),
            shape_and_slices=tf.constant([""] * len(names)),
            tensors=holders,
        )
        session.run(save, {holder: values[name] for holder, name in zip(holders, names)})
    _rename(path)


def convert(source, out):
    """Writes the checkpoint `source` for the other era.

    Returns:
      (number of variables, "by name" or "by object": how `out` knows them).

    Raises:
      InputError: there is no checkpoint, or it is damaged.
    """
    values = read(source)
    by_object = is_object_based(source)
    (write_by_name if by_object else write)(out, values)
    return len(values), "by name" if by_object else "by object"


def _rename(path):
    """Puts a complete checkpoint in its place; the index last, since readers look for it first."""
    for ending in (".data-00000-of-00001", ".index"):
        os.replace(path + ".part" + ending, path + ending)


def _dtype(value):
    value = np.asarray(value)
    return tf.string if value.dtype.kind in "OSU" else tf.as_dtype(value.dtype)


def _unescape(name):
    """Undoes the names of `tf.train.Checkpoint`, where "." is ".." and "/" is ".S"."""
    return re.sub(r"\.([.S])", lambda match: "." if match.group(1) == "." else "/", name)
