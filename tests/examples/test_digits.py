"""The digits example reaches 95 % on its test set, by the commands that it documents."""

import dataclasses
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.cases import setup
from workloads.data.function import FunctionData
from workloads.data.own_data import OwnData, request_of
from workloads.training.evaluation import Evaluation

ROOT = pathlib.Path(__file__).parents[2]
PATH = ROOT / "examples" / "digits" / "digits.py"

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["digits"]


def test_no_image_is_in_both_sets(digits):
    train, test = digits.DIGITS.dataset(64), digits.test_set(64)
    assert [len(part["labels"]) for part in (train, test)] == [1437, 360]
    both = np.concatenate([train["pixels"], test["pixels"]])
    assert len(np.unique(both, axis=0)) == 1797 and both.min() == 0 and both.max() == 1


def test_it_reaches_95_percent(digits):
    made = setup(digits.DIGITS, source=lambda job: OwnData(job, FunctionData("digits", digits.DIGITS.dataset)))
    steps = made.make_source(made.job).steps(20)
    with made.modern_program() as program:
        program.run(steps)
        state = program.state()
    request = request_of(made.job, shuffle=False)
    order = dataclasses.replace(request.order, may_repeat=True)
    tests = FunctionData("test", digits.test_set).batches(request._replace(order=order))
    result = Evaluation(made.job, tests, made.devices()).evaluate(state)
    assert result.examples == 360 and result.means["accuracy"] >= 0.95


@pytest.mark.slow
def test_its_commands_do_what_they_say(digits):
    commands = re.findall(r"^    python -m (.*)$", digits.__doc__, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        process = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=PATH.parent,
            env=dict(os.environ, PYTHONPATH=str(ROOT)),
            capture_output=True,
            text=True,
        )
        assert process.returncode == 0, process.stderr
        if "train" in command:
            last = re.findall(r"step +450 \| evaluation of 360 examples: accuracy (\S+)", process.stdout)
            assert float(last[-1]) >= 0.95
        else:
            assert "PARITY" in process.stdout
