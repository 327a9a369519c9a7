"""The page of a diagnosis: what two recordings share is compared, and the rest is left out."""

from parity.comparison.history import LossPair
from parity.html.diagnosis_page import diagnosis_page, history_of_steps
from tests.parity.html.pages import CAUSE
from tests.parity.step_records import compared_step, made_up_state, step_record


def compared(step, right, locked=False):
    """A step in which the right side has another weight `w`, and one that the left side lacks."""
    left_record = step_record(step=step, losses=[1.0, 3.0], state=made_up_state({"w": [1.0, 2.0]}))
    right_record = step_record(step=step, losses=[2.0, 4.0], state=made_up_state({"w": right, "other": [1.0]}))
    return compared_step(left_record, right_record, locked=locked)


def test_losses_and_shared_tensors_of_free_steps():
    history = history_of_steps([compared(0, [1.0, 4.0]), compared(1, [1.0, 2.0]), compared(2, [9.0, 9.0], locked=True)])
    assert history.losses == [LossPair(0, 2.0, 3.0), LossPair(1, 2.0, 3.0)]
    weights = [entry for entry in history.differences if entry.stage == "weights"]
    assert [(entry.name, entry.step, entry.relative) for entry in weights] == [("w", 0, 1.0)]


def test_arrays_of_another_shape_are_not_compared():
    history = history_of_steps([compared(0, [1.0])])
    assert "weights" not in history.names


def test_the_page_names_the_causes_first():
    content = {"causes": [CAUSE], "unexplained": [{"sentence": "slots are off"}], "facts": ["losses differ"]}
    steps = [compared(0, [1.0, 4.0])]
    page = diagnosis_page(("a.npz", "b.npz"), False, content, steps, ["not compared: other"])
    assert "THE RUNS DIFFER: LOSS_NOT_DIVIDED" in page and 'class="verdict bad"' in page
    order = ("<h2>Causes", "slots are off", "not compared: other", "<h2>Losses", "<h2>Where", "losses differ")
    places = [page.index(text) for text in order]
    assert places == sorted(places)
    passed = diagnosis_page(("a.npz", "a.npz"), True, {**content, "causes": []}, [compared(0, [1.0, 2.0])], [])
    assert "NOTHING TO MEND" in passed and "Notes" not in passed
