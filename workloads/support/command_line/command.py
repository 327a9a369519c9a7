"""Command line of every command: flags, positional arguments, `--help`, `--json`, and the exit status.

A command module defines its flags and a `main`, and ends with

    console = command.entry(main, __doc__)

    if __name__ == "__main__":
        console()

`main` gets the positional arguments and returns the exit status. Statuses: 0 success (or None); 1 what the command
checks does not hold, or `Lost`; 2 input that cannot be used (bad flags, `InputError`); 4 the user's own code failed
(`UserError`); 70 a defect of this project, with its traceback; 130 Ctrl-C; 141 the reader of the output is gone; 143
SIGTERM. Each of 1, 2 and 4 is reported by one line on stderr, after the whole traceback with `--traceback`. The process
ends with its last line, see `ending`.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence

from absl import flags

from workloads.progress import display
from workloads.support.command_line import flag_help
from workloads.support.errors import CommandError, InputError, UserError, require
from workloads.support.files import json_file
from workloads.support.processes import ending, isolation
from workloads.support.processes.ending import BROKEN_PIPE, DEFECT, INTERRUPTED, TERMINATED, Terminated
from workloads.support.user import user_code

#: Exit status where the user's own workload, data function or schedule failed.
USER_CODE = 4

#: Title of the flags that are defined here, in `--help`.
HELP_TITLE = "All commands"

#: Beginning of the line that reports an error.
ERROR = "error: "

#: See `isolate_if`.
_find_untrusted: list[Callable[[], str | None]] = []

flags.DEFINE_boolean("traceback", False, "Show the whole traceback above the line that reports an error.")

flags.disclaim_key_flags()  # what is defined below belongs to the module that asks for it


def entry(main: Callable[..., int | None], description: str | None, *operands: str) -> Callable[[], None]:
    """Returns the function that a command module runs as a script, and that a console script calls.

    Args:
      main: takes the positional arguments and returns the exit status, or raises `InputError` or `Lost`.
      description: the command's docstring, which `--help` prints above the flags.
      operands: names of the positional arguments, such as "GRAPH"; each must be given.

    Returns:
      function without arguments that reads the command line, runs `main` and ends the process.
    """

    def console() -> None:
        from absl import app, logging

        logging.set_verbosity(logging.ERROR)  # libraries' INFO lines are not for the terminal

        def parse(argv: Sequence[str]) -> list[str]:
            if flag_help.is_asked_for(argv):
                print(flag_help.help_text(description or "", flags.FLAGS, getattr(main, "__module__", "")), end="")
                sys.exit(0)
            try:
                return flags.FLAGS(argv)
            except flags.Error as error:
                sys.exit(_refuse(" ".join(str(error).split()) + " (see --help)", 2))

        def checked(argv: Sequence[str]) -> None:
            sys.exit(status_of(lambda: _run(main, _checked_operands(argv[1:], operands))))

        ending.watch_signals()
        ending.end_process(status_of(lambda: _status_of_exit(lambda: app.run(checked, flags_parser=parse))))

    return console


def _run(main: Callable[..., int | None], given: Sequence[str]) -> int | None:
    """Runs `main`, in a child process if the flags name what can crash TensorFlow."""
    subjects = [subject for subject in (find() for find in _find_untrusted) if subject]
    if subjects:
        return isolated(lambda: main(*given), subjects[0], isolation.Limits())
    with display.displayed(command_name()):
        return main(*given)


def command_name() -> str:
    """Returns the name of the command that this process runs, such as "parity.verify"."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name.replace(".__main__", "") if spec else os.path.basename(sys.argv[0])


def isolate_if(find_untrusted: Callable[[], str | None]) -> None:
    """Makes commands run in a child process if the flags name an input that can crash TensorFlow.

    Args:
      find_untrusted: returns that input as the beginning of a message, or None.
    """
    _find_untrusted.append(find_untrusted)


def status_of(work: Callable[[], int | None]) -> int:
    """Runs `work` and returns the exit status it ends with; all errors but a defect's are reported in one line."""
    try:
        return work() or 0
    except BrokenPipeError:  # whoever read the output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at exit
        return BROKEN_PIPE
    except (KeyboardInterrupt, Terminated) as error:
        return _stopped(INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED)
    except (Exception, SystemExit) as error:
        by_signal = ending.signal_status()
        if by_signal is not None:
            return _stopped(by_signal)
        reported = user_code.reported_error(error) or _full_disk(error)
        if reported is None:
            raise
        if "traceback" in flags.FLAGS and flags.FLAGS["traceback"].value:
            print(user_code.traceback_text(reported if reported.__cause__ else error), file=sys.stderr, end="")
        return _refuse(reported, status_of_error(reported))


def isolated(work: Callable[[], int | None], subject: str, limits: isolation.Limits) -> int:
    """Runs `work` in a child process that a damaged file may crash; see `isolation.run_isolated`.

    Args:
      work: returns the exit status; its errors are reported as those of a command's `main` are.
      subject: the input that is not trusted, as the beginning of messages.
      limits: what the child may use.

    Returns:
      the exit status.
    """

    def displayed() -> int | None:
        with display.displayed(command_name()):
            return work()

    display.end()  # the child shows what it does
    return isolation.run_isolated(lambda: status_of(displayed), subject, limits)


def _full_disk(error: BaseException) -> InputError | None:
    """Returns as an `InputError` that there is no space for a file or for the output; None for another error."""
    if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return None
    return InputError(f"cannot write {error.filename or 'the output'}: {error.strerror}")


def status_of_error(error: CommandError) -> int:
    """Returns the exit status of an error that is reported in one line."""
    return 2 if isinstance(error, InputError) else USER_CODE if isinstance(error, UserError) else 1


def _status_of_exit(work: Callable[[], object]) -> int:
    """Runs `work`, which ends by `sys.exit`, and returns the status; an exception that nobody expected is printed."""
    try:
        work()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:
        if ending.signal_status() is not None:
            raise  # which `status_of` reports
        sys.excepthook(*sys.exc_info())
        return DEFECT
    return 0


def define_json(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines `--json`; `entry` refuses a file that could not be written before it runs the command."""
    flags.DEFINE_string(
        "json",
        None,
        "File to write the whole result to, as JSON; - for standard output, all else then goes to stderr.",
        flag_values=flag_values,
    )


def write_json(content: object, flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Writes `content` to the file that `--json` names, if it names one."""
    if flag_values["json"].value:
        json_file.write_json(flag_values["json"].value, content)


def check_json(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Raises `InputError` if `--json` names a file that could not be written; nothing without that flag.

    Standard output is kept for the result alone if `--json` names it.
    """
    if "json" in flag_values and flag_values["json"].value:
        json_file.require_writable(flag_values["json"].value, "--json")
        if json_file.is_stdout(flag_values["json"].value):
            json_file.reserve_stdout(flag_values["json"].value)


def require_each(values: Sequence[str], allowed: Sequence[str], flag: str) -> None:
    """Raises `InputError` unless every value of a list flag is one of `allowed`.

    Args:
      values: what was given.
      allowed: the values that may be given.
      flag: its name, such as "--workloads", for the message.
    """
    for value in values:
        require(value in allowed, flag, value, "allowed: " + ", ".join(allowed))


def assignments(texts: Sequence[str], flag: str, expected: str) -> dict[str, str]:
    """Returns {name: value} of texts "name=value".

    Args:
      texts: values of a list flag.
      flag: its name, such as "--feed", for the message.
      expected: the form of a text, such as "placeholder=value", for the message.

    Returns:
      values by name, both as text; a value may contain "=".

    Raises:
      InputError: a text has no "=".
    """
    for text in texts:
        require("=" in text, flag, text, "expected " + expected)
    return dict(text.split("=", 1) for text in texts)


def _checked_operands(given: Sequence[str], operands: Sequence[str]) -> Sequence[str]:
    expected = "expected " + " ".join(operands) if operands else "flags only"
    require(len(given) == len(operands), "argument", list(given), expected + "; see --help")
    check_json()
    return given


def _refuse(error: Exception | str, status: int) -> int:
    return _refuse_plainly(ERROR + " ".join(str(error).split()), status)


def _stopped(status: int) -> int:
    """Reports that a signal ends the command; returns the status that was given."""
    return _refuse_plainly(ending.LINES[signal.Signals(status - 128)], status)


def _refuse_plainly(line: str, status: int) -> int:
    print(line, file=sys.stderr)
    return status
