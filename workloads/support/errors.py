"""The one exception for input that cannot be used, and how a main module turns it into exit status 2."""

from __future__ import annotations

import os
import sys


class InputError(ValueError):
    """Bad input. The message is one line: the argument, the value it had, and what is allowed."""


class Lost(RuntimeError):
    """Something that a run depends on is gone, such as a worker. The message is one line; the exit status is 1."""


def require(condition, argument, value, allowed):
    """Raises `InputError` naming `argument`, its `value` and what is `allowed`, unless `condition` holds."""
    if not condition:
        raise InputError(f"{argument}: got {value!r}, {allowed}")


def pairs(texts, argument, expected):
    """{left: right} of texts "left=right"; `InputError` naming `argument` and what is `expected` for another."""
    for text in texts:
        require("=" in text, argument, text, "expected " + expected)
    return dict(text.split("=", 1) for text in texts)


def run_main(main):
    """Runs `main(argv)` under absl: bad flags and `InputError` end in one line on stderr and exit status 2."""
    from absl import app, flags, logging

    from workloads.support import help as help_lib

    logging.set_verbosity(logging.ERROR)  # libraries' INFO lines are not for the terminal

    def parse(argv):
        if help_lib.wanted(argv):
            print(help_lib.text(sys.modules["__main__"].__doc__ or "", flags.FLAGS), end="")
            sys.exit(0)
        try:
            return flags.FLAGS(argv)
        except flags.Error as error:
            _refuse(" ".join(str(error).split()) + " (see --help)")

    def guarded(argv):
        sys.exit(status_of(lambda: main(argv)))

    app.run(guarded, flags_parser=parse)


def status_of(work):
    """Does `work` and gives the exit status it ends with; `InputError`, `Lost` and Ctrl-C are told in one line."""
    try:
        work()
        return 0
    except InputError as error:
        return _tell(error, 2)
    except Lost as error:
        return _tell(error, 1)
    except SystemExit as ended:
        return ended.code
    except BrokenPipeError:  # whoever read the output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at exit
        return 128 + 13
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _tell(error, status):
    print("error: " + " ".join(str(error).split()), file=sys.stderr)
    return status


def _refuse(line):
    sys.exit(_tell(line, 2))
