"""Pages of speeds: bars with intervals, figures beside them, and workloads without parity named."""

import pytest

from parity.html.speed_page import ratio_pictures, speed_page, workloads_page
from parity.speed.ratio import SpeedRatio, ratio_json

FASTER, SLOWER = (ratio_json(SpeedRatio(*numbers, 20)) for numbers in ((1.5, 1.25, 1.75), (0.5, 0.25, 0.75)))


def contestant(name, ratio, **more):
    timed = {"examples_per_second": 1234.0, "ratio": ratio} if ratio else {}
    return {"name": name, "input": "resident", "parity": "parity", "note": "", "problem": "", **timed, **more}


def measured(verdict="faster", ratio=FASTER, workload="mine"):
    return {
        "workload": workload,
        "parity": {"verdict": "parity"},
        "ratio": ratio,
        "ratios": {"resident": ratio},
        "verdicts": {"resident": verdict},
        "contestants": [
            contestant("legacy", SLOWER),
            contestant("modern", FASTER),
            contestant("x", None, problem="ended"),
        ],
        "environment": {"tensorflow": "2.21"},
    }


def refused():
    entry = {key: measured(workload="other")[key] for key in ("workload", "contestants", "environment")}
    return {**entry, "parity": {"verdict": "no parity"}}


@pytest.mark.parametrize(
    "content, mood, verdict",
    [
        (measured(), "good", "The port is faster with resident batches, 1.50 [1.25, 1.75] x the towers"),
        (measured("slower", SLOWER), "bad", "The port is slower with resident batches, 0.50 [0.25, 0.75] x the towers"),
        (measured("undecided"), "open", "The port is undecided"),
        (refused(), "bad", "NO PARITY, so no speed is reported"),
    ],
)
def test_the_verdict_comes_first(content, mood, verdict):
    page = speed_page("mine: 2 replicas", ["a line"], content)
    assert f'<p class="verdict {mood}">{verdict}' in page and "<li>a line</li>" in page
    assert page.count("<svg") == (2 if "ratios" in content else 1)


def test_figures_stand_beside_the_bars():
    page = speed_page("mine", [], measured())
    assert "1,234" in page and "0.50 [0.25, 0.75]" in page and "<td>ended</td>" in page


def test_all_workloads_share_a_picture():
    shared = {"steps": 20, "tolerance": "exact", "job": {"replicas": 2, "global_batch": 8}}
    verified = [
        {"workload": name, "verdict": verdict, **shared}
        for name, verdict in (("mine", "parity"), ("other", "not shown"))
    ]
    page = workloads_page("parity NOT SHOWN", {"verify": verified, "benchmark": [measured(), refused()]})
    assert '<p class="verdict open">parity NOT SHOWN</p>' in page and page.count("<svg") == 3
    assert "Not timed, as parity was not shown: other." in page


def test_nothing_is_drawn_without_a_speed():
    assert [block for block in ratio_pictures({"other": refused()}) if "<svg" in block] == []
