"""`--names`: the file that maps the names of a port's variables, or of a Keras model's, to legacy's names."""

from __future__ import annotations

import os

from absl import flags

from workloads.support.files import json_file

flags.disclaim_key_flags()  # `--help` lists the flag with those of the command that asks for it


def define_names(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines `--names`."""
    flags.DEFINE_string(
        "names",
        None,
        "JSON file that maps the names of the port's variables to legacy's. If it does not exist it is written: "
        "variables are matched by name, shape, initial value and order; edit it and run again.",
        flag_values=flag_values,
    )


def check_names(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Raises `InputError` if the file does not exist and cannot be written."""
    path = flag_values["names"].value
    if path is not None and not os.path.exists(path):
        json_file.require_writable(path, "--names")
