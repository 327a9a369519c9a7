"""Lines about a speed measurement."""

from parity.reports.speed_text import result_lines
from parity.speed.names import INPUTS, STREAMED
from tests.parity.speed.made_up_results import contestant, result, without_parity


def test_a_line_for_each_program_and_one_for_the_ratio():
    legacy, modern, one_device, ratio = result_lines(result(), {"legacy": 3 * 2**20, "modern": None}, 20)
    assert legacy.startswith(
        "legacy     resident replicas=2 batch=8 (4 a replica) warmup=20 steps, 3.0 s blocks=2x8  64.0 examples/s"
    )
    assert legacy.endswith("median, MAD 0.0 %  0.500 [0.500, 0.500] of the port's speed  peak 3 MiB")
    assert "128.0 examples/s" in modern and "peak" not in modern
    assert one_device.startswith("one device resident batch=8 ")
    assert "32.0 examples/s" in one_device and "0.250 [0.250, 0.250] of the port's speed" in one_device
    assert ratio == (
        "modern/legacy resident 2.000  95 % [2.000, 2.000]  faster (margin 5 %, higher is better); "
        "input: feed, tf.data; reduction: TowerOrder"
    )


def test_lines_say_the_input_and_why_a_program_has_no_speed():
    mine = contestant("mine", STREAMED, None, problem="died")
    lines = list(result_lines(result(mine, inputs=INPUTS), {}, 20))
    assert lines[6] == "mine       streamed  not timed: died"
    assert lines[7].startswith("modern/legacy resident") and lines[8].startswith("modern/legacy streamed")


def test_no_speed_is_shown_without_parity():
    (line,) = result_lines(without_parity(), {}, 20)
    assert line.startswith("NO PARITY: variables do not match: w: only on the left: no speed is shown")
