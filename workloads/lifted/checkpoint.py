"""Checkpoints as arrays: name-based ones, as TensorFlow 1.x writes them, and object-based ones, as 2.x does."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from workloads.support.errors import InputError, require
from workloads.support.files import unfinished

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workloads.program import Arrays

v1 = tf.compat.v1

#: `tf.train.Checkpoint` writes a dictionary called "values" under these names: prefix, key, suffix.
PREFIX, SUFFIX = "values/", "/.ATTRIBUTES/VARIABLE_VALUE"
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"

#: Reasons for which a file cannot be written, which TensorFlow has as words in a long message.
WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


def read_checkpoint(path: str) -> Arrays:
    """Returns {variable: array} of a checkpoint of either kind.

    Args:
      path: the prefix that the saver returned, e.g. model.ckpt-1000; or its .index or .data file, or a 1.x single file.

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
        raise InputError(f"checkpoint: cannot read {path!r}: {str(error).splitlines()[0][:200]}") from error
    if OBJECT_GRAPH not in names:
        return values
    values = {n: v for n, v in values.items() if n.startswith(PREFIX) and n.endswith(SUFFIX)}
    return {_unescape(name[len(PREFIX) : -len(SUFFIX)]): value for name, value in values.items()}


def is_object_based(path: str) -> bool:
    """Returns whether a checkpoint was written by `tf.train.Checkpoint`."""
    return OBJECT_GRAPH in tf.train.load_checkpoint(path).get_variable_to_shape_map()


def write_by_object(path: str, values: Mapping[str, Any]) -> None:
    """Writes {variable: array} as the object-based checkpoint of `tf.train.Checkpoint(values={name: variable})`.

    Raises:
      OSError: it cannot be written; nothing of it is left.
    """
    require(tf.__version__[0] != "1", "checkpoint", path, f"TensorFlow {tf.__version__} writes none by object")
    with _written_completely(path), tf.init_scope(), tf.device("/cpu:0"):
        made = {name: tf.Variable(value, dtype=_dtype(value), trainable=False) for name, value in values.items()}
        tf.train.Checkpoint(values=made).write(path + ".part")


def write_by_name(path: str, values: Mapping[str, Any]) -> None:
    """Writes {variable: array} as the Saver of 1.x does: a 1.x program with variables of these names can restore it.

    Raises:
      OSError: it cannot be written; nothing of it is left.
    """
    names = sorted(values)
    require(names, "checkpoint", path, "there is nothing to write")
    with _written_completely(path), tf.Graph().as_default(), v1.Session() as session:
        holders = [v1.placeholder(_dtype(values[name]), np.shape(values[name])) for name in names]
        save = tf.raw_ops.SaveV2(
            prefix=tf.constant(os.path.abspath(path) + ".part"),
            tensor_names=tf.constant(names),
            shape_and_slices=tf.constant([""] * len(names)),
            tensors=holders,
        )
        session.run(save, {holder: values[name] for holder, name in zip(holders, names)})


def convert_checkpoint(source: str, out: str) -> tuple[int, str]:
    """Writes a name-based checkpoint as an object-based one, or the reverse.

    Returns:
      The number of variables, and the kind of `out`: "by name" or "by object".

    Raises:
      InputError: there is no checkpoint, it is damaged, or `out` cannot be written.
    """
    values = read_checkpoint(source)
    by_object = is_object_based(source)
    try:
        (write_by_name if by_object else write_by_object)(out, values)
    except OSError as error:
        raise InputError(f"--out: cannot write {out}: {error.strerror}") from error
    return len(values), "by name" if by_object else "by object"


@contextlib.contextmanager
def _written_completely(path: str) -> Iterator[None]:
    """Context in which a checkpoint is written to `path`.part, then renamed; after an error it is removed.

    Raises:
      OSError: it cannot be written.
    """
    try:
        yield
        for ending in (".data-00000-of-00001", ".index"):  # the index last, since readers look for it first
            os.replace(path + ".part" + ending, path + ending)
    except tf.errors.OpError as error:
        raise _write_error(error, path) from None  # TensorFlow's message has a traceback of a hundred lines in it
    finally:
        for rest in glob.glob(glob.escape(path) + ".part[._]*"):  # files, and a folder of files
            unfinished.remove(rest)


def _write_error(error: tf.errors.OpError, path: str) -> OSError:
    """Returns as an `OSError` why TensorFlow could not write a file."""
    for number in WRITE_ERRORS:
        if os.strerror(number) in error.message:
            return OSError(number, os.strerror(number), path)
    return OSError(errno.EIO, error.message.splitlines()[0][:200], path)


def _dtype(value: Any) -> tf.DType:
    value = np.asarray(value)
    return tf.string if value.dtype.kind in "OSU" else tf.as_dtype(value.dtype)


def _unescape(name: str) -> str:
    """Reverts the escaping of `tf.train.Checkpoint`, which writes "." as ".." and "/" as ".S"."""
    return re.sub(r"\.([.S])", lambda match: "." if match.group(1) == "." else "/", name)
