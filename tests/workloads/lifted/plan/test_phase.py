"""Phases of a plan, read from JSON."""

import pytest

from tests.small_lift import small_plan
from workloads.lifted.plan.phase import Effect, Phase, indices_label


def test_a_key_that_no_record_has_is_refused():
    content = small_plan().to_json()
    with pytest.raises(TypeError, match="unexpected"):
        Phase.from_json(dict(content["phases"][0], unexpected=1))
    with pytest.raises(TypeError, match="unexpected"):
        Effect.from_json(dict(content["phases"][0]["effects"][0], unexpected=1))


def test_rows_of_a_sparse_gradient_have_a_label_of_their_own():
    assert indices_label("embedding") == "embedding (indices)"
