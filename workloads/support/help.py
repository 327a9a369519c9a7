"""`--help`: the main module's text, then its flags in groups, one group for each module that defines some."""

from __future__ import annotations

import sys
import textwrap

#: Modules whose flags are absl's own business.
_LIBRARY = "absl."


def wanted(argv):
    """Whether the command line asks for help."""
    return any(argument in ("--help", "-h", "-help", "--helpfull", "--helpshort") for argument in argv[1:])


def text(main_doc, flag_values):
    """What `--help` prints.

    Args:
      main_doc: docstring of the main module.
      flag_values: absl's `FLAGS`; groups keep the order in which modules were imported, the main's own first.
    """
    groups = flag_values.flags_by_module_dict()
    main = [name for name in groups if name == sys.argv[0] or name == "__main__"]
    others = [name for name in groups if name not in main and not name.startswith(_LIBRARY)]
    parts = [main_doc.strip()]
    for name in main + others:
        title = "flags" if name in main else sys.modules[name].__doc__.strip().splitlines()[0]
        parts.append("\n".join([title] + [_flag(flag) for flag in groups[name]]))
    return "\n\n".join(parts) + "\n"


def _flag(flag):
    default = "" if flag.default is None else " (default: {})".format(flag.default_as_str.strip("'"))
    body = textwrap.fill(flag.help + default, 100, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "  --{}{}\n{}".format("[no]" if flag.boolean else "", flag.name, body)
