"""Each rule about a hazard, on a program that has it and on near twins that must not be accused of it."""

import pytest

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.hazards.search import find_hazards
from tests.legacy.tower_traits import tower_graph


def hazards(**traits):
    """{hazard: description} of a program with some traits."""
    saved = tower_graph(**traits)
    return {row["hazard"]: row["what"] for row in find_hazards(saved, analyse_graph(saved, "x"))}


@pytest.mark.parametrize(
    "traits",
    [
        {},
        {"optimizer": "sgd by hand"},
        {"optimizer": "momentum by hand"},
        {"optimizer": "sgd, then clip"},
        {"embedding": "mean"},
        {"embedding": "scatter"},
        {"combine": "sum"},
        {"penalty": "each"},
        {"penalty": "first, undivided", "combine": "sum"},
        {"penalty": "first", "combine": "sum"},
        {"penalty": "norm"},
        {"rate": "decay"},
        {"rate": "set by hand"},
        {"rate": "fed"},
        {"loss": "sum / batch"},
        {"loss": "sum / elements"},
        {"loss": "pixels"},
        {"loss": "sum / global", "combine": "sum"},
        {"loss": "mean / towers", "combine": "sum"},
        {"loss": "half of squares"},
        {"loss": "0.5 of magnitudes"},
        {"loss": "mean of two"},
        {"summaries": "each"},
        {"summaries": "rate"},
        {"summaries": "mean and last"},
        {"statistics": "each, ordered"},
        {"keep": 0.5},
        {"keep": 0.35},
        {"keep": "keep_prob"},
    ],
    ids=str,
)
def test_what_is_right_is_not_accused(traits):
    assert hazards(**traits) == {}


@pytest.mark.parametrize(
    "traits, hazard, text",
    [
        ({"penalty": "first"}, "REGULARIZATION_ONCE", "each tower's loss: 1, 0; averaged over 2 towers it counts 0.5"),
        (
            {"penalty": "growing"},
            "REGULARIZATION_ONCE",
            "each tower's loss: 1, 2; averaged over 2 towers it counts 1.5",
        ),
        (
            {"penalty": "growing, times 0"},
            "REGULARIZATION_ZERO",
            "every regularization term of 1 variable is multiplied",
        ),
        ({"penalty": "each, undivided", "combine": "sum"}, "REGULARIZATION_ONCE", "summed over 2 towers it counts 2"),
        ({"penalty": "lost"}, "REGULARIZATION_LOST", "2 regularization terms are in the graph and no gradient"),
        ({"penalty": "displayed"}, "REGULARIZATION_LOST", "4 regularization terms are in the graph and no gradient"),
        ({"rate": "decay unused"}, "LEARNING_RATE_FROZEN", "is computed and no update depends on it"),
        ({"optimizer": "two"}, "STEP_COUNTED_TWICE", "of each optimizer and not of each tower"),
        ({"optimizer": "sgd and clip"}, "WEIGHTS_RACE", "1 weight is updated and assigned in one run, in no order (w)"),
        (
            {"optimizer": "sgd and clip twice"},
            "WEIGHTS_RACE",
            "1 weight is updated and assigned in one run, in no order (w)",
        ),
        ({"images": "same", "labels": "same"}, "SAME_BATCH", "all 2 towers get the same batch: 2 times the work"),
        ({"labels": "first part"}, "SAME_BATCH", "labels: all 2 towers get the same rows; images: each"),
        ({"labels": "unused"}, "TARGET_UNUSED", "labels enters the graph, and no gradient depends on it"),
        ({"loss": "sum / global"}, "BATCH_SIZE_CONSTANT", "all towers' 16, unless that is twice its own, for half"),
        ({"loss": "sum / other"}, "BATCH_SIZE_CONSTANT", "tower's 8 examples is divided by 50"),
        ({"loss": "mean / towers"}, "LOSS_DIVIDED_TWICE", "train takes 1/2 of the mean loss's gradient"),
        (
            {"loss": "growing"},
            "TERMS_OF_OTHER_TOWERS",
            "the loss of tower 1 contains those of tower 0: in the sum of all towers' losses, what each tower makes of "
            "its examples counts 2, 1 times",
        ),
        ({"loss": "zero"}, "NOTHING_TRAINED", "is multiplied by 0"),
        ({"summaries": "last"}, "REPORTED_BY_ONE_TOWER", "1 summary shows tower 1 alone"),
        ({"statistics": "each"}, "STATISTICS_RACE", "1 statistic is updated by several towers"),
        ({"statistics": "first"}, "STATISTICS_OF_ONE_TOWER", "the first tower only"),
        ({"statistics": "never run"}, "UPDATES_NEVER_RUN", "does not run the updates of 1 variable (moving_mean)"),
        ({"keep": 0.1}, "KEEP_FOR_RATE", "keeps only 10% of its input"),
        ({"keep": "drop_rate"}, "KEEP_FOR_RATE", "input that is kept"),
        (
            {"combine": "mean, but bias"},
            "MIXED_COMBINING",
            "gradients of 1 variable (b) are summed over 2 towers, those",
        ),
        (
            {"combine": "mean, but bias", "optimizer": "sgd by hand"},  # with one rate for both
            "MIXED_COMBINING",
            "gradients of 1 variable (b) are summed over 2 towers, those",
        ),
        (
            {"combine": "sum / 4"},
            "GRADIENTS_DIVIDED_BY_ANOTHER_COUNT",
            "the sum of 2 towers' gradients of 2 variables is divided by 4: train takes 2/4 of their mean",
        ),
        ({"embedding": "sum"}, "SPARSE_GRADIENTS_SUMMED", "sparse gradients of 1 variable (table) are summed"),
        (
            {"embedding": "sum times batch"},
            "SPARSE_GRADIENTS_SUMMED",
            "(table) are summed over 2 towers, times 8, those",
        ),
        ({"forward": ("/gpu:0", "/gpu:0")}, "TOWERS_SHARE_DEVICE", "towers 0, 1 compute on gpu:0"),
        ({"forward": ("/gpu:0", "/cpu:0")}, "TOWER_ON_CPU", "tower 1 computes on cpu:0, the others on gpu:0"),
        ({"backward": "/gpu:0"}, "BACKWARD_ON_ONE_DEVICE", "the backward passes all on gpu:0"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_and_nothing_else_is(traits, hazard, text):
    found = hazards(**traits)
    assert text in found[hazard]
    assert set(found) - {hazard} <= {"TARGET_UNUSED"}


def test_statistics_that_only_a_read_loss_updates_are_named_so():
    found = hazards(statistics="with the loss", penalty="each")
    assert set(found) == {"UPDATES_RUN_BY_LOSS", "STATISTICS_RACE"}
    assert "updates of 1 variable (moving_mean); reading the loss does" in found["UPDATES_RUN_BY_LOSS"]
    [note] = [
        n
        for n in analyse_graph(tower_graph(statistics="with the loss", penalty="each"), "x").plan.notes
        if "update op" in n
    ]
    assert note.startswith("2 update ops run where the loss is read beside the train op") and "never" not in note
    [other] = [n for n in analyse_graph(tower_graph(statistics="never run"), "x").plan.notes if "update op" in n]
    assert other.startswith("1 update op never runs with the train op")


def test_a_target_that_another_takes_the_place_of_is_named_too():
    assert "part 1" in hazards(labels="first part")["TARGET_UNUSED"]


def test_a_graph_that_is_not_analysed_is_not_accused_for_its_optimizer():
    for optimizer in ("sgd by hand", "momentum by hand"):
        assert find_hazards(tower_graph(optimizer=optimizer)) == []
