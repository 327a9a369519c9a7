"""The pool and the manager: settings that they pass to `multiprocessing`, without starting a process."""

import os
import select
import subprocess
import sys

import pytest

from parity.processes import pool

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class MadeUpContext:
    """Remembers what is asked of `multiprocessing`."""

    def Pool(self, *arguments, **keywords):
        return "pool", arguments, keywords

    def Manager(self):
        return "manager"


def test_processes_are_spawned_prepared_and_replaced(monkeypatch):
    methods = []
    monkeypatch.setattr(pool.multiprocessing, "get_context", lambda method: methods.append(method) or MadeUpContext())
    assert pool.process_pool(2, 24) == ("pool", (2, pool._prepare), {"maxtasksperchild": 24})
    assert pool.queue_manager() == "manager"
    assert methods == ["spawn", "spawn"]


def test_a_process_prepares_an_exact_tensorflow_and_ends_without_its_clean_up(monkeypatch):
    prepared, finalizers = [], []
    monkeypatch.setattr(pool.environment, "prepare", lambda exact: prepared.append(exact))
    monkeypatch.setattr(
        pool.multiprocessing.util, "Finalize", lambda *arguments, **options: finalizers.append(arguments)
    )
    pool._prepare()
    assert prepared == [True] and finalizers == [(None, pool.os._exit, (0,))]


#: A pool whose task takes for ever; prints the number of the process that is at it.
BUSY = """
import multiprocessing, os, signal, sys, time
from parity.processes import pool

def work(number):
    print(os.getpid(), flush=True)
    time.sleep(1000)

if __name__ == "__main__":
    pool.environment.prepare = lambda exact: None
    with pool.process_pool(1, 1) as processes:
        processes.map(work, [1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system ends such processes on Linux only")
def test_a_process_in_the_middle_of_a_task_ends_with_its_killed_parent(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    command = [sys.executable, str(tmp_path / "busy.py")]
    parent = subprocess.Popen(command, env=dict(os.environ, PYTHONPATH=ROOT), stdout=subprocess.PIPE, text=True)
    descriptor = os.pidfd_open(int(parent.stdout.readline()))
    parent.kill()
    assert select.select([descriptor], [], [], 60)[0]
    os.close(descriptor)
    parent.communicate()


#: A pool that is left while a replaced process waits for a task and so holds the lock of their queue.
IDLE = """
import time

from parity.processes import pool

pool.environment.prepare = lambda exact: None

def work(number):
    return number

def somebody_waits(lock):
    return not (lock.acquire(block=False) and not lock.release())

if __name__ == "__main__":
    with pool.process_pool(2, 1) as processes:
        first = {process.pid for process in processes._pool}
        while first & {process.pid for process in processes._pool}:
            assert processes.apply(work, (1,)) == 1
        while not somebody_waits(processes._inqueue._rlock):
            time.sleep(0)
"""


def test_a_pool_ends_while_replaced_processes_wait_for_a_task(tmp_path):
    (tmp_path / "idle.py").write_text(IDLE)
    command = [sys.executable, str(tmp_path / "idle.py")]
    assert subprocess.run(command, env=dict(os.environ, PYTHONPATH=ROOT), timeout=60).returncode == 0
