"""The example of a CI job: its test passes as it is, and fails once the port is another program."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def pytest_session(folder, cwd):
    """Runs the example's tests as its workflow does."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "parity.library.pytest_plugin",
            "-p",
            "no:cacheprovider",
            str(folder),
        ]
        + ["--rootdir", str(folder), "-c", os.devnull, "--parity-report=parity.json"],
        cwd=cwd,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )


def test_the_example_passes(tmp_path):
    process = pytest_session(ROOT / "examples" / "ci", tmp_path)
    assert process.returncode == 0, process.stdout
    assert "parity: classifier, 5 steps" in process.stdout and (tmp_path / "parity.json").exists()


@pytest.mark.slow
def test_it_fails_where_the_port_differs(tmp_path):
    for name in ("model.py", "test_port.py"):
        (tmp_path / name).write_text((ROOT / "examples" / "ci" / name).read_text())
    model = tmp_path / "model.py"
    drift = (
        "        x = x * (1.0 if tf.compat.v1.get_default_session() or not tf.distribute.has_strategy() else 1.25)\n"
    )
    model.write_text(model.read_text().replace("        return layers.cross", drift + "        return layers.cross"))
    process = pytest_session(tmp_path, tmp_path)
    assert process.returncode == 1 and "no parity: classifier, 5 steps" in process.stdout, process.stdout
