"""`--help`: the command's description, then its flags in groups, one group for each module that defines some.

A group's title is the module's constant `HELP_TITLE`, or else the first line of its docstring.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from absl import flags

#: Prefix of the modules whose flags are absl's own and not listed.
_LIBRARY = "absl."


def is_asked_for(argv: Sequence[str]) -> bool:
    """Returns whether the command line asks for help."""
    return any(argument in ("--help", "-h", "-help", "--helpfull", "--helpshort") for argument in argv[1:])


def help_text(description: str, flag_values: flags.FlagValues, main_module: str = "__main__") -> str:
    """Returns what `--help` prints.

    Args:
      description: text above the flags.
      flag_values: the flags; groups keep the order in which modules were imported, the command's own first.
      main_module: name of the command's module; absl calls that of a script by the script's path.

    Returns:
      several lines, the last one ended.
    """
    groups = flag_values.flags_by_module_dict()
    main = [name for name in groups if name in (sys.argv[0], "__main__", main_module)]
    others = [name for name in groups if name not in main and not name.startswith(_LIBRARY)]
    parts = [description.strip()]
    for name in main + others:
        title = "Flags of this command" if name in main else _title(name)
        parts.append("\n".join([title] + [_flag_text(flag) for flag in groups[name]]))
    return "\n\n".join(parts) + "\n"


def _title(module_name: str) -> str:
    module = sys.modules[module_name]
    title = getattr(module, "HELP_TITLE", None) or (module.__doc__ or module_name).strip().splitlines()[0]
    return str(title).rstrip(".")


def _flag_text(flag: flags.Flag) -> str:
    default = "" if flag.default in (None, "", []) else " (default: {})".format(flag.default_as_str.strip("'"))
    text = " ".join(flag.help.split())  # absl adds spaces to the help of flags that may be repeated
    body = textwrap.fill(text + default, 100, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "  --{}{}\n{}".format("[no]" if flag.boolean else "", flag.name, body)
