"""The process's settings and the description of the environment."""

import gc
import os
import subprocess
import sys

import pytest

from workloads.support.errors import InputError
from workloads.support.machine import environment


def test_settings_come_before_tensorflow_or_not_at_all():
    assert "tensorflow" in sys.modules  # of the other tests
    with pytest.raises(RuntimeError, match="before TensorFlow is imported"):
        environment.prepare(exact=False)


def refusal(version):
    """The line that refuses a version of TensorFlow; "" for one that is accepted."""
    try:
        environment.require_supported(version)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("version", ["1.15.5", "2.16.1", "2.21.0", "2.22.0-rc0"])
def test_versions_that_the_project_runs_with(version):
    assert refusal(version) == ""


@pytest.mark.parametrize("version", ["0.12.1", "1.14.0", "2.0.0", "2.15.1"])
def test_other_versions_are_refused_by_a_line(version):
    assert refusal(version).startswith(f"TensorFlow: got '{version}', must be 1.15, or 2.16 or later")


def test_the_description_says_what_can_change_the_numbers(monkeypatch):
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    about = environment.describe()
    assert set(about) >= {"tensorflow", "numpy", "python", "machine", "oneDNN", "GPUs"}
    assert about["oneDNN"] == "off" and all(isinstance(text, str) for text in about.values())
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS")
    assert environment.describe()["oneDNN"] == "default"


def test_peak_memory_only_grows():
    before = environment.peak_bytes()
    block = bytearray(before // 4)
    block[:: os.sysconf("SC_PAGE_SIZE")] = b"1" * len(block[:: os.sysconf("SC_PAGE_SIZE")])
    assert environment.peak_bytes() >= before > 2**20


#: Prints whether Keras was imported, whether garbage is still collected, and whether Keras can be had afterwards.
AFTER_PREPARE = """
import gc, sys
from workloads.support.machine import environment
{prepare}
import tensorflow as tf
print("keras" in sys.modules, gc.isenabled(), gc.get_freeze_count() > 0, callable(tf.keras.optimizers.SGD))
"""


@pytest.mark.parametrize(
    "prepare, printed",
    [
        ("environment.prepare(exact=True)", "False True True True"),
        pytest.param("", "True True False True", marks=pytest.mark.slow),
    ],
    ids=["prepared", "not prepared"],
)
def test_keras_is_imported_when_it_is_asked_for_and_not_before(prepare, printed):
    code = AFTER_PREPARE.format(prepare=prepare)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.split() == printed.split()


def test_an_import_that_fails_leaves_collections_and_keras_as_they_were():
    missing = "keras.src.optimizers" not in sys.modules
    with pytest.raises(ImportError), environment._keras_left_out(), environment._no_collections():
        assert not gc.isenabled()
        raise ImportError("no tensorflow")
    assert gc.isenabled()
    assert ("keras.src.optimizers" not in sys.modules) == missing
