"""Processes that a process has started."""

import os
import subprocess
import sys

import pytest

from parity.processes.process_tree import Descendants

#: Starts a process that starts another; ends when its input does.
TWO_BELOW = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", GRANDCHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
"""
GRANDCHILD = "import subprocess, sys; subprocess.Popen(['sleep', '1000']); print('x', flush=True); sys.stdin.read()"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs process descriptors")
def test_processes_that_outlive_their_parent_are_found_at_any_depth():
    process = subprocess.Popen(
        [sys.executable, "-c", TWO_BELOW.replace("GRANDCHILD", repr(GRANDCHILD))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    below, again = Descendants(process.pid), Descendants(process.pid)
    process.kill()
    process.communicate()  # its child sees the end of its input; the one below that has none to see
    (sleeper,) = below.running_after(0.5)
    os.kill(sleeper, 9)
    assert again.running_after(60) == []


def test_a_process_without_children_has_none():
    assert Descendants(subprocess.Popen([sys.executable, "-c", ""]).pid).running_after(0) == []
