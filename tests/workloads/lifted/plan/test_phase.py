"""Phases of a plan, read from JSON."""

import pytest

from tests.small_lift import small_plan
from workloads.lifted.plan.phase import Effect, Phase, indices_label, is_indices_label, part_label, weight_of_label


def test_a_key_that_no_record_has_is_refused():
    content = small_plan().to_json()
    with pytest.raises(TypeError, match="unexpected"):
        Phase.from_json(dict(content["phases"][0], unexpected=1))
    with pytest.raises(TypeError, match="unexpected"):
        Effect.from_json(dict(content["phases"][0]["effects"][0], unexpected=1))


def test_rows_of_a_sparse_gradient_have_a_label_of_their_own():
    assert indices_label("embedding") == "embedding (indices)"


def test_labels_of_parts_and_rows_are_of_their_weight():
    rows = indices_label("embedding (old)/w")
    assert is_indices_label(rows) and not is_indices_label(part_label(rows, 0))
    assert part_label("w", 1) == "w (part 2)"
    labels = [rows, part_label(rows, 0), part_label("embedding (old)/w", 3), "embedding (old)/w"]
    assert set(map(weight_of_label, labels)) == {"embedding (old)/w"}
