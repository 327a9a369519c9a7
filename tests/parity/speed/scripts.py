"""Little programs that answer, or do not answer, the lines of `--others`."""

from __future__ import annotations

import pathlib
import sys

#: A program that does as it should; {} stands for more fields of its answer to hello.
GOOD = """
import os, sys
for line in sys.stdin:
    words = line.split()
    if words[0] == "hello":
        print('{"name": "mine", "examples_per_step": 64%s}', flush=True)
    elif words[0] == "run":
        print("done", flush=True)
    else:
        break
"""


def good(fields=""):
    """The text of a program that does as it should, with more fields such as `, "input": "streamed"`."""
    return GOOD % fields


def script(folder, text, name="mine.py"):
    """Writes an executable file that this Python runs, and returns its path."""
    path = pathlib.Path(folder, name)
    path.write_text(f"#!{sys.executable} -S\n{text}")
    path.chmod(0o755)
    return str(path)
