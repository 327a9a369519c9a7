"""The user's line in exceptions, and in messages as TensorFlow 1.15 and 2.21 write them."""

import os
import pathlib

import pytest

from workloads.support.user import user_frames
from workloads.support.user.user_frames import Place

ROOT = str(pathlib.Path(os.path.abspath(user_frames.__file__)).parents[2])
OURS = os.path.join(ROOT, "scope.py")
MINE = Place("/home/me/mine.py", 7)
TF = "/venv/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py"


@pytest.mark.parametrize(
    "path, expected",
    [
        ("/home/me/mine.py", True),
        (OURS, False),
        (TF, False),
        (os.__file__, False),
        ("<frozen importlib._bootstrap>", False),
        ("/tmp/__autograph_generated_file1.py", False),
    ],
)
def test_the_users_code_is_neither_this_projects_nor_a_librarys(path, expected):
    assert user_frames.is_user(path) is expected


def test_only_what_this_project_called_counts():
    command = os.path.join(ROOT, "support", "command_line", "command.py")
    caller, callee = Place("/home/me/script.py", 3), Place("/home/me/deep.py", 9)
    assert user_frames.innermost([caller, Place(OURS, 1), MINE, callee, Place(TF, 2)]) == callee
    assert user_frames.innermost([caller, Place(OURS, 1)]) is None
    assert user_frames.innermost([Place(command, 1), caller]) is None
    assert user_frames.innermost([caller], called=False) == caller


def frames(*places):
    return "\n".join(f'  File "{place.file}", line {place.line}, in f' for place in places)


CALLER = Place("/home/me/script.py", 1)
IN_GRAPH = (
    f"Detected at node 'a' defined at (most recent call last):\n{frames(CALLER, Place(OURS, 5), MINE)}\nNode: 'a'\n"
)
IN_PYTHON = "  (0) UNKNOWN: ValueError: no\nTraceback (most recent call last):\n\n"


@pytest.mark.parametrize(
    "text, expected",
    [
        (IN_GRAPH + "indices[0] = 5 is not in [0, 2)", MINE),
        ("bad\n\nOriginal stack trace for 'a':\n" + frames(CALLER, Place(OURS, 5), MINE, Place(TF, 2)), MINE),
        (IN_GRAPH + IN_PYTHON + frames(Place(TF, 2), Place("/home/me/mine.py", 3)), Place("/home/me/mine.py", 3)),
        (f"Detected at node 'a' defined at:\n{frames(CALLER, Place(OURS, 5))}", None),
        ('in user code:\n\n    File "/home/me/mine.py", line 7, in f  *\n        x = y\n\n    ValueError: no', MINE),
        ("Detected at node a defined at (most recent call last):\n<stack traces unavailable>\nno", None),
        (None, None),
    ],
)
def test_a_message_names_the_innermost_line(text, expected):
    assert user_frames.place_in_text(text) == expected


def test_a_place_below_the_current_folder_is_shown_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(Place(str(tmp_path / "mine.py"), 3)) == "mine.py:3"
    assert str(MINE) == "/home/me/mine.py:7"


def test_a_definition_is_a_place_if_it_is_the_users():
    def mine():
        pass

    class Callable:
        def __call__(self):
            pass

    first = mine.__code__.co_firstlineno
    assert user_frames.place_of(mine) == Place(os.path.abspath(__file__), first)
    assert user_frames.place_of(Callable()) == user_frames.place_of(Callable)
    assert user_frames.place_of(Callable).line == first + 3
    assert user_frames.place_of(user_frames.place_of) is None and user_frames.place_of(len) is None
    assert user_frames.place_of(None) is None
