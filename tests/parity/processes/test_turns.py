"""Turns of processes, here of threads: each has opened the locks' files by itself, as a process would."""

import concurrent.futures
import threading

import pytest

from parity.processes import turns
from parity.processes.turns import Turns

pytestmark = pytest.mark.skipif(not turns.SUPPORTED, reason="this system has no locks of files")


def meet(folder):
    """Whether two threads meet while each is alone."""
    meeting = threading.Barrier(2)

    def waits_for_the_other(taken):
        with taken.alone():
            try:
                meeting.wait(timeout=0.25)
                return True
            except threading.BrokenBarrierError:
                return False

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(waits_for_the_other, [Turns(folder), Turns(folder)]))


def test_two_are_never_alone_at_once(tmp_path):
    assert meet(str(tmp_path)) == [False, False]


def test_without_a_folder_nobody_waits():
    assert meet(None) == [True, True]


def test_who_is_alone_has_waited_until_nobody_prepares(tmp_path):
    first, second = Turns(str(tmp_path)), Turns(str(tmp_path))
    log = []

    def take_turn():
        with first.alone():
            log.append("first is alone")

    thread = threading.Thread(target=take_turn)
    thread.start()
    thread.join(timeout=0.25)
    assert thread.is_alive()  # the second prepares
    log.append("second has prepared")
    with second.alone():
        thread_was_first = "first is alone" in log
        log.append("second is alone")
    thread.join()
    assert log[0] == "second has prepared" and sorted(log[1:]) == ["first is alone", "second is alone"]
    assert thread_was_first  # it came first


def test_nobody_begins_to_prepare_while_another_is_alone(tmp_path):
    first = Turns(str(tmp_path))
    begun = threading.Event()
    with first.alone():
        thread = threading.Thread(target=lambda: (Turns(str(tmp_path)), begun.set()))
        thread.start()
        assert not begun.wait(timeout=0.25)
    thread.join()
    assert begun.is_set()


def test_a_process_takes_turns_in_the_folder_that_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv(turns.VARIABLE, str(tmp_path))
    turns.own_turns.cache_clear()
    try:
        assert turns.own_turns() is turns.own_turns()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["gate", "machine"]
    finally:
        turns.own_turns.cache_clear()
