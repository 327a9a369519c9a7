"""Causes on a page."""

from parity.html.cause_blocks import MOST_LISTED, cause_blocks
from tests.parity.html.pages import CAUSE


def test_a_cause_with_its_fix_and_confidence():
    (block,) = cause_blocks({"causes": [CAUSE]})
    assert "<b>fix:</b> Divide the loss." in block and "<b>confidence:</b> high (fit)" in block
    assert "<b>confirmed:</b> yes" in block
    assert "<b>confirmed:</b> not tried" in cause_blocks({"causes": [{**CAUSE, "confirmed": None}]})[0]
    assert "no bug" not in block and "<b>no bug:</b>" in cause_blocks({"causes": [{**CAUSE, "bug": False}]})[0]


def test_what_no_cause_explains_is_listed_to_a_limit():
    blocks = cause_blocks({"causes": [], "unexplained": [{"sentence": f"tensor {i}"} for i in range(MOST_LISTED + 1)]})
    assert blocks[0] == "<p>No known cause explains:</p>" and blocks[1].count("<li>") == MOST_LISTED


def test_what_remains_beside_a_clean_port_takes_the_place_of_what_is_unexplained():
    remaining = [{"stage": "weights", "variable": "w", "roundings": 5.0, "step": 2}]
    blocks = cause_blocks({"causes": [], "unexplained": [{"sentence": "w differs"}], "remaining": remaining})
    assert "w differs" not in blocks[1] and "weights (w)" in blocks[1]
    assert cause_blocks({"causes": [], "unexplained": [{"sentence": "w differs"}], "remaining": []}) == []
