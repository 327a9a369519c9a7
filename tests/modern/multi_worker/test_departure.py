"""Workers leave together: none while another still needs it, and the one that hosts the service last."""

import threading

import pytest
import tensorflow as tf

from modern.collectives.worker import Worker
from modern.multi_worker import departure


class Board:
    """Key/value store of workers that are threads; notes what each is told and asks, in order."""

    def __init__(self):
        self.changed, self.values, self.log = threading.Condition(), {}, []

    def of(self, index):
        """The store as worker `index` sees it."""
        board = self

        class View:
            def set_config_key_value(self, key, value):
                with board.changed:
                    board.values[key] = value
                    board.changed.notify_all()

            def get_config_key_value(self, key, timeout_in_ms):
                with board.changed:
                    if not board.changed.wait_for(lambda: key in board.values, timeout_in_ms / 1000):
                        raise tf.errors.DeadlineExceededError(None, None, key)
                    return board.values[key]

        return View()

    def leave(self, index, count):
        """Has worker `index` leave, and notes it."""
        departure.leave_together(Worker(None, index, count), self.of(index))
        with self.changed:
            self.log.append(index)


def start(target, *arguments):
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def test_nobody_leaves_before_the_last_one_is_done():
    board = Board()
    threads = [start(board.leave, index, 3) for index in (0, 2)]
    with board.changed:
        assert board.changed.wait_for(lambda: len(board.values) == 2, 60)
    assert board.log == []  # worker 1 still computes
    threads.append(start(board.leave, 1, 3))
    for thread in threads:
        thread.join(60)
    assert sorted(board.log) == [0, 1, 2]


def test_the_chief_leaves_last():
    board = Board()
    board.values = {departure._key("done", 1): "1"}  # worker 1 is done and has not left
    chief = start(board.leave, 0, 2)
    with board.changed:
        assert board.changed.wait_for(lambda: departure._key("left", 0) in board.values, 60)
    assert board.log == []
    board.of(1).set_config_key_value(departure._key("left", 1), "1")
    chief.join(60)
    assert board.log == [0]


@pytest.mark.parametrize("error", [tf.errors.UnavailableError(None, None, "gone"), RuntimeError("no service")])
def test_an_error_in_leaving_is_no_loss(error):
    asked = []

    class Broken:
        def set_config_key_value(self, key, value):
            asked.append(key)
            raise error

    departure.leave_together(Worker(None, 0, 2), Broken())
    assert asked == [departure._key("done", 0)]  # the error ended the leaving, and nothing else


def test_a_worker_that_never_comes_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(departure, "PATIENCE", 0.01)
    board = Board()
    board.leave(1, 2)
    assert board.log == [1]
