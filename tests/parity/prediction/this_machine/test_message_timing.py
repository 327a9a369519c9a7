"""The message of an all-reduce, measured."""

from parity.prediction.this_machine import message_timing


def test_a_message_is_what_further_all_reduces_take(monkeypatch):
    """One all-reduce of two messages and the call: 5 s; nine: 8 x 2 messages of 0.5 s more."""
    sums = []

    def interleaved(runs, calls, rounds):
        sums.extend([tensor.numpy().tolist() for tensor in run().values] for run in runs)
        return [5.0, 13.0]

    monkeypatch.setattr(message_timing, "interleaved_seconds", interleaved)
    assert message_timing.message_seconds() == 0.5
    # 0 + 1 in the first all-reduce; each of the eight further ones adds two equal values.
    assert sums == [[[1.0] * 8] * 2, [[256.0] * 8] * 2]


def test_noise_is_no_negative_time(monkeypatch):
    monkeypatch.setattr(message_timing, "interleaved_seconds", lambda runs, calls, rounds: [1.0, 0.5])
    assert message_timing.message_seconds() == 0.0
