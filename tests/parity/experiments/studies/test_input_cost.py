"""The study of input: its sentences on made-up times, and the whole of it on a small job."""

import pytest

from parity.experiments.studies import input_cost
from parity.experiments.studies.alternatives.turns import TurnTimes
from parity.experiments.studies.input_cost import MADE_UP, OWN, REAL, WAYS, Case, row_name
from parity.speed.names import LEGACY, MODERN
from tests.parity.experiments.studies.in_process import in_process  # noqa: F401

CASE = Case("cifar_cnn", "seed", 64)


def times():
    """The towers' own step takes 1 s, the port's 2 s; made-up input doubles both, real input makes it four times."""
    seconds = {OWN[LEGACY]: [1.0] * 4, OWN[MODERN]: [2.0] * 4}
    for way in WAYS:
        own = seconds[OWN[way.side]][0]
        seconds[row_name(way, MADE_UP)], seconds[row_name(way, REAL)] = [2 * own] * 4, [4 * own] * 4
    seconds[row_name(WAYS[1], REAL)] = [2.5] * 4
    return TurnTimes(seconds)


def test_each_way_is_relative_to_its_own_sides_step():
    shares = input_cost.shares_of_own_speed(times(), WAYS)
    assert {shares[row_name(way, MADE_UP)].median for way in WAYS} == {0.5}
    assert shares[row_name(WAYS[-1], REAL)].median == 0.25 and len(shares) == 2 * len(WAYS)


def test_the_answer_names_the_best_way_with_real_data():
    text = input_cost.sentence_about(CASE, input_cost.shares_of_own_speed(times(), WAYS))
    assert "cifar_cnn, batch 64: batches that are drawn anew keep 0.50 to 0.50 of the step's own speed" in text
    assert text.endswith("Real data cost least with towers, fed and split.")


def test_the_table_has_the_steps_own_speed_first():
    (table,) = input_cost.make_report({CASE: times()}, WAYS).tables
    assert [row[2] for row in table.rows[:2]] == ["1", "1"] and len(table.rows) == 2 + 2 * len(WAYS)


def test_real_images_have_three_channels():
    images, labels = input_cost.real_images()
    assert images.shape == (1797, 32, 32, 3) and labels.shape == (1797,)
    assert (images[..., 0] == images[..., 2]).all() and images.max() == 255


@pytest.mark.slow
def test_the_whole_study_of_a_small_job(in_process):  # noqa: F811
    report = input_cost.run_study(True, lambda *unused: None)
    names = [OWN[LEGACY], OWN[MODERN], "towers, queue runners, made-up", "towers, queue runners, real"]
    assert in_process.opened == names == [row[0] for row in report.tables[0].rows]
