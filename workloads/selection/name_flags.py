"""`--names`: the file that gives the variables of a port, or of a Keras model, legacy's names."""

from __future__ import annotations

import os

from absl import flags

from workloads.support.files import json_file


def define_names(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines `--names`."""
    flags.DEFINE_string(
        "names",
        None,
        "JSON file that gives the port's variables legacy's names. If it does not exist it is written: "
        "variables are matched by name, shape, initial value and order; edit it and run again.",
        flag_values=flag_values,
    )


def check_names(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Raises `InputError` if the file does not exist and cannot be written."""
    path = flag_values["names"].value
    if path is not None and not os.path.exists(path):
        json_file.require_writable(path, "--names")
