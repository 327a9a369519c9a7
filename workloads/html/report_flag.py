"""`--report`: the HTML file of a command's result. A command that has the flag calls `define_report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from workloads.support.errors import require
from workloads.support.files import json_file

if TYPE_CHECKING:
    from collections.abc import Callable

flags.disclaim_key_flags()  # `--help` lists the flag with those of the command that asks for it


def define_report(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines `--report`, once where one command runs others, as `python -m parity` does."""
    if "report" not in flag_values:
        text = "HTML file to write: the result as one file that needs no network."
        flags.DEFINE_string("report", None, text, flag_values=flag_values)


def check_report(flag_values: flags.FlagValues) -> None:
    """Raises `InputError` if `--report` names a file that could not be written."""
    path = flag_values["report"].value
    if path is not None:
        require(path.endswith((".html", ".htm")), "--report", path, "must be the path of an .html file")
        json_file.require_writable(path, "--report")


def write_report(make_page: Callable[[], str], flag_values: flags.FlagValues) -> None:
    """Writes the page that `make_page` returns to the file that `--report` names, if it names one."""
    if flag_values["report"].value is not None:
        json_file.write_text(flag_values["report"].value, make_page(), "--report")
