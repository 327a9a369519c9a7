"""Flags of the commands that read a saved graph: how the old program ran it, as far as the graph does not hold it."""

from __future__ import annotations

from absl import flags

from workloads.support.command_line import command

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


def feed_from_flags(flag_values: flags.FlagValues) -> dict[str, str]:
    """Returns {placeholder: text of its value} of `--feed`.

    Raises:
      InputError: an entry is not of that form.
    """
    return command.assignments(flag_values["feed"].value, "--feed", "placeholder=value")
