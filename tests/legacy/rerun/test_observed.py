"""Tensors that a step's record fetches, and copies of those that the step changes."""

from legacy.rerun import observed
from tests.small_lift import small_plan
from workloads.lifted.plan import Effect


def test_each_learning_rate_is_named_once_in_the_order_of_the_updates():
    phase = small_plan().phases[0]
    phase.effects = [
        Effect(str(i), "Apply", ["w"], [], None, rate) for i, rate in enumerate(["b:0", None, "a:0", "b:0"])
    ]
    assert observed.learning_rate_tensors(phase) == ["b:0", "a:0"]
