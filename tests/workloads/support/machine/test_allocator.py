"""Settings of the C library's allocator."""

from workloads.support.machine import allocator


def test_freed_memory_is_kept(mallopt_calls):
    allocator.keep_freed_memory()
    assert mallopt_calls == [(-3, 32 * 2**20), (-1, 2**30)]  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD


def test_what_the_user_has_set_is_left_alone(mallopt_calls, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    allocator.keep_freed_memory()
    assert mallopt_calls == [(-3, 32 * 2**20)]


def test_sizes_that_were_set_are_set_again(mallopt_calls, monkeypatch):
    allocator.restore()
    assert mallopt_calls == []  # nothing had been set
    allocator.set_sizes({"MALLOC_TRIM_THRESHOLD_": 4096})
    allocator.restore()
    assert mallopt_calls == [(-1, 4096), (-1, 4096)]


def test_other_systems_and_c_libraries_are_left_alone(mallopt_calls, monkeypatch):
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    allocator.keep_freed_memory()
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    allocator.keep_freed_memory()
    assert mallopt_calls == []
