"""One TensorFlow for all in-process tests: exact settings, eight logical CPU devices.

Tests of what is process-wide and must differ (flags, exit statuses, another interpreter) start processes of their own:
`tests/parity/test_commands.py` and its like.
"""

import gc
import signal

import pytest

from workloads.support.machine import environment

environment.prepare(exact=True)

from modern.collectives import strategy  # noqa: E402  TensorFlow must be prepared first
from parity.installation import old_interpreters  # noqa: E402

LOGICAL_CPUS = 8
strategy.divide_cpu(LOGICAL_CPUS)

# Started in the background by a shell, this process ignores Ctrl-C, and so would every command that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

gc.freeze()  # TensorFlow's modules stay; collections need not look at them again


@pytest.fixture(autouse=True, scope="module")
def _collect_closed_programs():
    """Frees the graphs and input threads of a module's closed programs: they are in reference cycles."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _control_flow_as_before():
    """Restores how `cond` and `while_loop` make their ops, which tests change to build graphs of 1.x."""
    from tensorflow.compat import v1

    was_v2 = v1.control_flow_v2_enabled()
    yield
    if was_v2 != v1.control_flow_v2_enabled():
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()


def pytest_collection_modifyitems(items):
    """Skips GPU tests, with the reason, where there are fewer GPUs than `@pytest.mark.gpu(count)` asks for."""
    import tensorflow as tf

    have = len(tf.config.list_physical_devices("GPU"))
    for item in items:
        mark = item.get_closest_marker("gpu")
        if mark is not None and have < mark.args[0]:
            item.add_marker(pytest.mark.skip(reason=f"needs {mark.args[0]} physical GPUs, found {have}"))


def old_python():
    """An interpreter with TensorFlow 1.x: $LEGACY_PYTHON, or what `make legacy-python` made; None without either."""
    return old_interpreters.named_interpreter()


@pytest.fixture
def legacy_python():
    """`old_python`, or a skip that says how to get one."""
    if old_python() is None:
        pytest.skip("no TensorFlow 1.15: set LEGACY_PYTHON, or run `make legacy-python`")
    return old_python()


@pytest.fixture
def mallopt_calls(monkeypatch):
    """Calls (parameter, bytes) of a stand-in for glibc's `mallopt`; none of the variables that it obeys is set."""
    from workloads.support.machine import allocator

    calls = []

    class Library:
        def __init__(self, name):
            assert name is None

        def mallopt(self, parameter, size):
            calls.append((parameter, size))

    monkeypatch.setattr(allocator.ctypes, "CDLL", Library)
    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator, "_sizes", {})
    for variable in allocator.SETTINGS:
        monkeypatch.delenv(variable, raising=False)
    return calls
