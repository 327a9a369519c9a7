"""One run at a time writes into a checkpoint folder."""

import os
import subprocess
import sys

import pytest

from workloads.support.errors import InputError
from workloads.training import folder_lock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

#: Holds the lock of the folder that is its argument until its input ends.
HOLD = """
import sys
from workloads.training.folder_lock import locked_folder
with locked_folder(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of `tmp_path`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        env=dict(os.environ, PYTHONPATH=ROOT),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_folder_that_another_process_uses_is_refused_and_the_process_is_named(holder, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "PATIENCE", 0.0)
    message = f"in use by another run .process {holder.pid} on "
    with pytest.raises(InputError, match=message), folder_lock.locked_folder(str(tmp_path)):
        pass
    holder.stdin.close()
    holder.wait()
    with folder_lock.locked_folder(str(tmp_path)):
        assert os.listdir(tmp_path) == [folder_lock.NAME]


def test_the_lock_of_a_killed_process_is_gone_with_it(holder, tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "PATIENCE", 60.0)
    holder.kill()  # not waited for: who starts again at once waits for its end
    with folder_lock.locked_folder(str(tmp_path)):
        assert os.listdir(tmp_path) == [folder_lock.NAME]


def test_a_file_system_without_locks_locks_nothing(tmp_path, monkeypatch):
    import errno

    def refuse(descriptor, how):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(folder_lock.fcntl, "lockf", refuse)
    with folder_lock.locked_folder(str(tmp_path / "new")):
        assert os.path.isdir(tmp_path / "new")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    message = "--checkpoint_dir: cannot make"
    with pytest.raises(InputError, match=message), folder_lock.locked_folder(str(tmp_path / "file" / "below")):
        pass
