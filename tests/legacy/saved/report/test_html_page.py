"""The page of a saved graph: the answer, hazards in frames, and every section."""

import pytest

from legacy.saved.facts.basics.rows import NOT_ANALYSED
from legacy.saved.report.html_page import inspection_page

HAZARD = {"hazard": "TOWER_ON_CPU", "op": "tower_0/mul", "what": "on <the> CPU", "in tf.distribute": "one device each"}


def sections(answer="yes", hazards=()):
    return {
        "program": [{"what": "settings fixed", "is": "none"}],
        "variables": [{"variable": "w", "shape": "[2]"}],
        "watch": [{"what": "a race & more"}],
        "losses": [],
        "hazards": list(hazards),
        **({NOT_ANALYSED: [{"what": answer}]} if answer.startswith("no") else {}),
        "next": [{"what": "can be lifted", "is": answer}, {"what": "next command", "is": "python -m legacy.lift"}],
    }


@pytest.mark.parametrize(
    "answer, hazards, mood, verdict",
    [
        ("yes", [], "good", "Can be lifted: yes; 0 hazards"),
        ("yes", [HAZARD], "open", "Can be lifted: yes; 1 hazard"),
        ("no: no update op", [HAZARD] * 2, "bad", "Can be lifted: no: no update op; 2 hazards"),
    ],
)
def test_the_answer_comes_first(answer, hazards, mood, verdict):
    page = inspection_page("graph.meta", sections(answer, hazards))
    assert f'<p class="verdict {mood}">{verdict}</p>' in page
    assert page.index("Next") < page.index("Hazards of a port") < page.index("Program")


def test_every_section_with_rows_is_shown():
    page = inspection_page("graph.meta", sections(hazards=[HAZARD]))
    assert "fixed settings" in page and "<li>a race &amp; more</li>" in page and "<td>[2]</td>" in page
    assert "on &lt;the&gt; CPU" in page and "Losses" not in page and "<script" not in page


def test_long_sections_are_cut():
    many = {**sections(), "variables": [{"variable": f"w{i}", "shape": "[]"} for i in range(203)]}
    page = inspection_page("graph.meta", many)
    assert "w199" in page and "w200" not in page and "and 3 more, see --json" in page
