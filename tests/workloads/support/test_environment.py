"""The process's settings and the description of the environment."""

import os
import sys

import pytest

from workloads.support import environment


def test_settings_come_before_tensorflow_or_not_at_all():
    assert "tensorflow" in sys.modules  # of the other tests
    with pytest.raises(RuntimeError, match="before TensorFlow is imported"):
        environment.prepare(exact=False)


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
