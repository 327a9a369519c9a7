"""Another interpreter: scripts that answer as one with TensorFlow would, or fail."""

import pytest

from parity.processes import interpreter
from workloads.support.errors import InputError


@pytest.fixture
def script(tmp_path):
    """Function from shell lines to the path of an "interpreter" that runs them."""

    def write(lines):
        path = tmp_path / "python"
        path.write_text("#!/bin/sh\n" + lines + "\n")
        path.chmod(0o755)
        return str(path)

    return write


def test_the_version_is_the_last_line(script):
    assert interpreter.tensorflow_version(script("echo a warning; echo 1.15.5")) == "1.15.5"


def test_no_such_interpreter():
    with pytest.raises(InputError, match="--legacy_python: got 'no-such-python', no such interpreter"):
        interpreter.tensorflow_version("no-such-python")


@pytest.mark.parametrize(
    "lines, reason",
    [
        ("echo first >&2; echo No module named tensorflow >&2; exit 1", "No module named tensorflow"),
        ("exit 1", "no message"),
    ],
)
def test_an_interpreter_without_tensorflow_is_refused_with_its_last_line(script, lines, reason):
    with pytest.raises(InputError, match=f"cannot import tensorflow and absl: {reason}$"):
        interpreter.tensorflow_version(script(lines))


def test_a_file_that_cannot_be_run_is_refused(tmp_path):
    path = tmp_path / "python"
    path.write_bytes(b"\x00not a program")
    path.chmod(0o755)
    with pytest.raises(InputError, match="could not be run: "):
        interpreter.tensorflow_version(str(path))


def test_an_interpreter_that_hangs_is_refused(script, monkeypatch):
    monkeypatch.setattr(interpreter, "PROBE_TIMEOUT", 0.05)
    with pytest.raises(InputError, match="could not be run: .*timed out"):
        interpreter.tensorflow_version(script("exec sleep 60"))


def test_the_recording_is_made_with_the_flags(script, tmp_path):
    out = tmp_path / "legacy.npz"
    interpreter.record_legacy(script(f'shift 2; echo "$@" > {out}'), ["--workload=x", "--steps=3"], str(out))
    assert out.read_text() == f"--out={out} --workload=x --steps=3\n"


def test_a_recording_that_fails_is_reported_with_its_last_line(script, tmp_path):
    with pytest.raises(InputError, match="--legacy_python: the recording failed: error: bad flag$"):
        interpreter.record_legacy(script("echo error: bad flag >&2; echo >&2; exit 2"), [], str(tmp_path / "x.npz"))


@pytest.mark.parametrize("lines, answer", [("true", "nothing"), ("echo hello", "'hello'")])
def test_a_program_that_is_no_python_is_refused(script, lines, answer):
    with pytest.raises(InputError, match=f"answers {answer}, must be a Python with TensorFlow"):
        interpreter.tensorflow_version(script(lines))


def test_a_recording_that_is_not_there_is_reported(script, tmp_path):
    with pytest.raises(InputError, match="ended without an error and without a recording"):
        interpreter.record_legacy(script("true"), [], str(tmp_path / "legacy.npz"))
