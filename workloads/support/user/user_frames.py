"""Search for the user's own code in an exception: its traceback, its causes, and the tracebacks in TensorFlow's text.

The user's code is what belongs neither to this project nor to Python's libraries, and is called from this project.
"""

from __future__ import annotations

import functools
import inspect
import os
import pathlib
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Optional, Tuple

#: The folder that holds this project's packages, and their names.
_ROOT = str(pathlib.Path(os.path.abspath(__file__)).parents[3])
_PACKAGES = tuple(os.path.join(_ROOT, name) + os.sep for name in ("workloads", "legacy", "modern", "parity"))

#: This project's modules that call commands and targets of processes, which need not be this project's.
_HARNESS = tuple(
    os.path.join(_ROOT, "workloads", "support", *names)
    for names in (("command_line", "command.py"), ("processes", "child_side.py"), ("user", "user_code.py"))
)

_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")

#: TensorFlow's copies of functions that it has rewritten as graphs; their own line numbers mean nothing.
GENERATED = "__autograph_generated_file"

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')

#: Beginnings of the stacks that a message of TensorFlow is made of.
_PYTHON_STACK = "Traceback (most recent call last):"
_OP_STACK = re.compile(r"Detected at node|Original stack trace|in user code:|in converted code:")


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        here = os.getcwd() + os.sep
        shown = self.file[len(here) :] if self.file.startswith(here) else self.file
        return f"{shown}:{self.line}"


def is_project(path: str) -> bool:
    """Returns whether a source file belongs to this project's packages."""
    return path.startswith(_PACKAGES)


def is_user(path: str) -> bool:
    """Returns whether a source file is the user's own."""
    generated = path.startswith("<") or GENERATED in path
    return not (generated or is_project(path) or _INSTALLED.search(path) or path.startswith(_standard_library()))


def innermost(frames: Iterable[Place], called: bool = True) -> Place | None:
    """Returns the innermost frame in the user's code.

    Args:
      frames: of a stack, the outermost first.
      called: whether to consider only frames that this project called, so that whoever calls a command does not count.

    Returns:
      the frame's place; None if there is none.
    """
    found, reached = None, not called
    for frame in frames:
        reached = reached or (is_project(frame.file) and frame.file not in _HARNESS)
        if reached and is_user(frame.file):
            found = frame
    return found


def find_place(error: BaseException) -> Place | None:
    """Returns the innermost line of the user's code that an exception, or one of its causes, comes from.

    Returns:
      the place; None if no user's code is involved.
    """
    for one in _with_causes(error):
        frames = [_place(f.filename, f.lineno) for f in traceback.extract_tb(one.__traceback__)]
        syntax = _syntax_error_place(one)
        generated = any(GENERATED in frame.file for frame in frames)
        found = (
            syntax
            or (place_in_text(str(one)) if generated else None)
            or innermost(frames, called=True)
            or (place_in_text(str(one)) if is_op_error(one) else None)
            or place_in_text(getattr(one, "tb", ""))  # the text that multiprocessing keeps of a task's traceback
        )
        if found is not None:
            return found
    return None


def place_in_text(text: Any) -> Place | None:
    """Returns the innermost line of the user's code in the stacks that a message contains; None if there is none.

    >>> place_in_text('Traceback (most recent call last):\\n  File "/home/me/mine.py", line 7, in f\\nValueError')
    Place(file='/home/me/mine.py', line=7)
    """
    if not isinstance(text, str):
        return None
    parts = text.split(_PYTHON_STACK)
    for block in parts[1:]:  # what Python functions called by TensorFlow raised; the first is the original cause
        found = innermost(_frames_in(_OP_STACK.split(block)[0]), called=False)
        if found is not None:
            return found
    for block in _OP_STACK.split(text):  # where ops were made
        rewritten = bool(re.search(_FRAME.pattern + r", in \w+  \*", block))
        found = innermost(_frames_in(block), called=not rewritten)
        if found is not None:
            return found
    return None


def place_in_graph(error: BaseException, graph: Any) -> Place | None:
    """Returns the user's line that made the function in which an op failed; such an error has no stack of its own.

    Args:
      error: of a session.
      graph: the session's `tf.Graph`.

    Returns:
      the place; None if the error names no function that an op of the graph runs.
    """
    named = {name for one in _with_causes(error) for name in re.findall(r"function_node (\w+)", str(one))}
    for op in graph.get_operations() if named else ():
        if any(value.HasField("func") and value.func.name in named for value in op.node_def.attr.values()):
            found = innermost(_place(frame[0], frame[1]) for frame in op.traceback)
            if found is not None:
                return found
    return None


def place_of(function: Any) -> Place | None:
    """Returns the line that defines a user's function, method, class or callable object; None if it is no user's."""
    if function is None:
        return None
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = type(function)
    if inspect.isclass(function):
        place = _place_of_class(function)
    else:
        code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
        place = _place(code.co_filename, code.co_firstlineno) if code is not None else None
    return place if place is not None and is_user(place.file) else None


def is_op_error(error: BaseException) -> bool:
    """Returns whether an exception is one of TensorFlow's ops; does not import TensorFlow."""
    kinds = [(kind.__name__, kind.__module__.partition(".")[0]) for kind in type(error).__mro__]
    return ("OpError", "tensorflow") in kinds


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yields the exception and the chain of its causes."""
    one: Optional[BaseException] = error
    seen: Tuple[int, ...] = ()
    while one is not None and id(one) not in seen:
        yield one
        seen += (id(one),)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _place(file: str, line: int | None) -> Place:
    """Returns a place whose file has its whole path, if it is a file."""
    return Place(file if file.startswith("<") else os.path.abspath(file), line or 0)


def _frames_in(text: str) -> Sequence[Place]:
    return [_place(file, int(line)) for file, line in _FRAME.findall(text)]


def _syntax_error_place(error: BaseException) -> Place | None:
    """Returns the line that a `SyntaxError` is about, which is no frame, if it is the user's."""
    if not isinstance(error, SyntaxError) or not error.filename:
        return None
    place = _place(error.filename, error.lineno)
    return place if is_user(place.file) else None


def _place_of_class(kind: type) -> Place | None:
    try:
        return _place(inspect.getsourcefile(kind) or "<unknown>", inspect.getsourcelines(kind)[1])
    except (OSError, TypeError):  # made at run time; its functions may be known all the same
        functions: Iterable[Callable[..., object]] = [f for f in vars(kind).values() if inspect.isfunction(f)]
        return next((place for place in map(place_of, functions) if place is not None), None)


def _standard_library() -> Tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(os.path.abspath(paths[name]) + os.sep for name in ("stdlib", "platstdlib"))
