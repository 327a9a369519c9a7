"""The example of a port in another framework answers as docs/speed.md says, and has the job's own model."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import keras
import pytest

from workloads.job import Job
from workloads.selection import registry
from workloads.tracing import trace

PATH = pathlib.Path(__file__).parents[2] / "examples" / "keras_port.py"


@pytest.fixture
def port():
    spec = importlib.util.spec_from_file_location("keras_port", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_has_the_workloads_variables(port):
    shapes = sorted(tuple(weight.shape) for weight in port.make_model().trainable_weights)
    specs = trace(registry.get("regression", "small"), 4, "float32")
    assert shapes == sorted(tuple(spec.shape) for spec in specs)
    assert isinstance(port.make_model().optimizer, keras.optimizers.Adam)
    assert Job(registry.get("regression", "small")).global_batch == port.BATCH


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["resident", "streamed"])
def test_it_answers_its_protocol(kind):
    lines = "hello\nrun 3\nrun 2\nquit\nhello\n"
    process = subprocess.run(
        [sys.executable, str(PATH)],
        input=lines,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "TOWER_PARITY_INPUT": kind, "TOWER_PARITY_GLOBAL_BATCH": "8"},
    )
    assert process.returncode == 0, process.stderr
    hello, *rest = process.stdout.splitlines()
    assert json.loads(hello) == {
        "name": "Keras fit", "examples_per_step": 8, "input": kind, "workload": "regression",
    }  # fmt: skip
    assert rest == ["done", "done"]
