"""Settings of the C library's allocator."""

import pytest

from workloads.support.machine import allocator


@pytest.fixture
def calls(monkeypatch):
    """Calls of a made-up `mallopt`; none of its variables is set."""
    made = []

    class Library:
        def __init__(self, name):
            assert name is None

        def mallopt(self, parameter, size):
            made.append((parameter, size))

    monkeypatch.setattr(allocator.ctypes, "CDLL", Library)
    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator, "_sizes", {})
    for variable in allocator.SETTINGS:
        monkeypatch.delenv(variable, raising=False)
    return made


def test_freed_memory_is_kept(calls):
    allocator.keep_freed_memory()
    assert calls == [(-3, 32 * 2**20), (-1, 2**30)]  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD


def test_what_the_user_has_set_is_left_alone(calls, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    allocator.keep_freed_memory()
    assert calls == [(-3, 32 * 2**20)]


def test_sizes_that_were_set_are_set_again(calls, monkeypatch):
    allocator.restore()
    assert calls == []  # nothing had been set
    allocator.set_sizes({"MALLOC_TRIM_THRESHOLD_": 4096})
    allocator.restore()
    assert calls == [(-1, 4096), (-1, 4096)]


def test_other_systems_and_c_libraries_are_left_alone(calls, monkeypatch):
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    allocator.keep_freed_memory()
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    allocator.keep_freed_memory()
    assert calls == []
