"""Arguments of the commands that read a saved graph: its file, and flags on how the old program ran it."""

from __future__ import annotations

import os
import re

from absl import flags

from workloads.support.command_line import command
from workloads.support.errors import InputError
from workloads.support.files import input_files

#: Names of graph files.
_GRAPH_NAME = re.compile(r"\.(meta|pbtxt|pb)$|tfevents")
#: Endings of a checkpoint's files.
_CHECKPOINT_ENDING = re.compile(r"\.(index|data-\d+-of-\d+)$")

flags.disclaim_key_flags()  # `--help` lists the flags with those of the command that asks for them


def define_graph_flags(flag_values: flags.FlagValues) -> None:
    """Defines `--train_op`, `--with`, `--feed` and `--layout`."""
    flags.DEFINE_list(
        "train_op",
        [],
        "Name of the training op that the program ran; several, separated by commas, if it ran them in turn, and "
        "joined by + those that it fetched in one run. Default: as in the recording beside the graph, or the only one.",
        flag_values=flag_values,
    )
    flags.DEFINE_list(
        "with",
        [],
        "Ops that the program fetched beside its training op, such as batch-norm updates; a step runs them too.",
        flag_values=flag_values,
    )
    flags.DEFINE_list(
        "feed",
        [],
        "Constant values of placeholders, as placeholder=value,placeholder=value. Default of booleans: as in the "
        "recording beside the graph.",
        flag_values=flag_values,
    )
    flags.DEFINE_enum(
        "layout",
        None,
        ["NHWC"],
        "Layout of convolutions, pooling and batch normalization, for a graph in NCHW on a machine without kernels for "
        "it.",
        flag_values=flag_values,
    )


def graph_size(path: str) -> int:
    """Returns the size of the graph file, in bytes.

    Raises:
      InputError: it cannot be read; the message names the graph where a folder or a checkpoint of one is given.
    """
    if os.path.isdir(path):
        graphs = [name for name in os.listdir(path) if _GRAPH_NAME.search(name)]
        newest = max(graphs, key=lambda name: os.path.getmtime(os.path.join(path, name)), default="")
        found = f"such as {os.path.join(path, newest)}" if newest else "of which it has none (.meta, .pbtxt, .pb)"
        raise InputError(f"graph file: {path!r} is a folder; name a graph in it, {found}")
    beside = _CHECKPOINT_ENDING.sub("", path) + ".meta"
    if os.path.exists(beside) and not path.endswith(".meta"):
        raise InputError(f"graph file: {path!r} is a checkpoint; its graph is {beside}")
    return input_files.require_regular(path, "graph file")


def feed_from_flags(flag_values: flags.FlagValues) -> dict[str, str]:
    """Returns {placeholder: text of its value} of `--feed`.

    Raises:
      InputError: an entry is not of that form.
    """
    return command.assignments(flag_values["feed"].value, "--feed", "placeholder=value")
