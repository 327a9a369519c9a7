"""Throughputs, ratios and verdicts of made-up contestants."""

from parity.comparison.result import Verification
from parity.speed.names import RESIDENT, STREAMED
from parity.speed.speed_result import Contestant, SpeedResult, Throughput


def contestant(name, kind, seconds, examples=8, steps=5, passed=True):
    verification = Verification("auto", "locked", 5, passed) if name == "modern" else None
    return Contestant(name, kind, examples, {}, verification, steps=steps, seconds=seconds)


def result(*contestants):
    return SpeedResult({RESIDENT: None, STREAMED: None}, list(contestants))


def test_throughput_is_the_median_over_blocks():
    # 8 x 5 examples: 20, 10 and 20 per second, whose deviations from 20 are 0, 10 and 0
    assert contestant("legacy", RESIDENT, [2.0, 4.0, 2.0]).throughput() == Throughput(20.0, 0.0)
    # 20, 10 and 40 per second: deviations 0, 10 and 20
    assert contestant("legacy", RESIDENT, [2.0, 4.0, 1.0]).throughput() == Throughput(20.0, 1.4826 * 10 / 20)


def test_ratios_are_of_examples_whatever_a_block_holds():
    port = contestant("modern", RESIDENT, [1.0, 1.0])
    mine = contestant("mine", RESIDENT, [1.0, 1.0], examples=16, steps=10)
    assert result(port, mine).ratio_to("modern", mine).median == 4.0


def test_ratios_are_between_programs_of_the_same_input():
    made = result(
        contestant("legacy", RESIDENT, [2.0, 2.0]),
        contestant("modern", RESIDENT, [1.0, 1.0]),
        contestant("legacy", STREAMED, [1.0, 1.0]),
        contestant("modern", STREAMED, [2.0, 2.0]),
    )
    assert made.port_to_legacy(RESIDENT).median == 2.0 and made.verdict(RESIDENT) == "faster"
    assert made.port_to_legacy(STREAMED).median == 0.5 and made.verdict(STREAMED) == "slower"


def test_there_is_no_ratio_to_what_was_not_timed():
    mine = contestant("mine", RESIDENT, [1.0, 1.0])
    made = result(contestant("modern", RESIDENT, []), mine)
    assert made.ratio_to("modern", mine) is None and made.verdict(RESIDENT) == "no parity"


def test_parity_is_that_of_every_input():
    right = contestant("modern", RESIDENT, [1.0, 1.0])
    wrong = contestant("modern", STREAMED, [1.0, 1.0], passed=False)
    assert result(right).has_parity and not result(right, wrong).has_parity
    assert result(right, wrong).verification is wrong.verification
