"""The PyTorch port does what its commands say: it differs from the towers by rounding alone, and a mistake is named."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "pytorch"

pytest.importorskip("torch")
pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow

PAGE = (FOLDER / "port.py").read_text(encoding="utf-8").replace("\\\n", " ")
COMMANDS = re.findall(r"^    python (.*)$", PAGE, re.MULTILINE)


def run(command, folder):
    return subprocess.run(
        [sys.executable, *command.split()],
        cwd=folder,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the example, the towers' recording and the port's."""
    made = tmp_path_factory.mktemp("pytorch") / "example"
    shutil.copytree(FOLDER, made, ignore=shutil.ignore_patterns("__pycache__"))
    for command in COMMANDS[:3]:
        process = run(command, made)
        assert process.returncode == 0, process.stderr
    return made


def test_the_port_differs_by_rounding_alone(folder):
    process = run(COMMANDS[3], folder)
    assert process.returncode == 0 and process.stdout.splitlines()[1].startswith("FLOAT_ORDER"), process.stdout


def test_the_mistake_that_it_suggests_is_named(folder):
    port = folder / "port.py"
    text = port.read_text(encoding="utf-8")
    port.write_text(text.replace("momentum=0.9)", "momentum=0.9, nesterov=True)"), encoding="utf-8")
    assert run(COMMANDS[2], folder).returncode == 0
    process = run(COMMANDS[3], folder)
    assert process.returncode == 1 and "UPDATE_FORM" in process.stdout, process.stdout
