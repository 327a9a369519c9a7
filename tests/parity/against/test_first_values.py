"""Whether a port draws its first weights as the old graph does."""

import dataclasses
import doctest

import numpy as np
import pytest

from parity.against import first_values
from parity.against.first_values import draw_alike, initializer_note, parse_initializer
from tests.small_lift import small_plan
from workloads.initializers import Constant, GlorotUniform, HeNormal, Initializer, Normal, TruncatedNormal, Uniform
from workloads.variable_spec import VariableSpec


@dataclasses.dataclass(frozen=True)
class NormalOfTwoUniforms(Initializer):
    """Normal numbers by another formula and from other random numbers."""

    stddev: float = 1.0

    def __call__(self, shape, rng):
        radius, angle = np.sqrt(-2 * np.log(1 - rng.uniform(size=shape))), rng.uniform(0, 2 * np.pi, shape)
        return np.asarray(np.clip(radius * np.cos(angle), -2, 2) * self.stddev, np.float32)


def test_the_docstrings_examples_hold():
    assert doctest.testmod(first_values).failed == 0


@pytest.mark.parametrize("shape", [(), (3,), (5, 7), (64, 64)])
@pytest.mark.parametrize(
    "left, right, alike",
    [
        (TruncatedNormal(0.5), TruncatedNormal(0.5), True),
        (TruncatedNormal(0.5), NormalOfTwoUniforms(0.5), True),
        (TruncatedNormal(0.5), TruncatedNormal(0.625), False),
        (Constant(0.0), Constant(0.0), True),
        (Constant(0.0), Constant(1.0), False),
        (Constant(0.0), TruncatedNormal(2.0**-10), False),
    ],
)
def test_distributions_are_told_apart_by_mean_and_spread(left, right, alike, shape):
    assert draw_alike(left, right, shape) is draw_alike(right, left, shape) is alike


def test_he_is_not_glorot():
    assert not draw_alike(GlorotUniform(), HeNormal(), (8, 8)) and draw_alike(GlorotUniform(), GlorotUniform(), (8, 8))


def note_of(initializer, known="truncated_normal 0.5"):
    plan = small_plan()
    plan.variables[0].initializer = known
    return initializer_note(plan, {"port/w": "w"}, [VariableSpec("port/w", (4,), "float32", True, initializer)])


def test_other_initializers_are_named():
    assert note_of(TruncatedNormal(0.125)) == (
        "not compared, since both sides start from the checkpoint: other initializers of port/w "
        "(TruncatedNormal(stddev=0.5) in the old graph, TruncatedNormal(stddev=0.125) in the port)"
    )


def test_nothing_is_said_where_they_agree_or_are_not_known():
    assert note_of(TruncatedNormal(0.5)) == note_of(TruncatedNormal(0.125), known="") == note_of(None) == ""


@pytest.mark.parametrize(
    "text, initializer",
    [
        ("constant -1.5", Constant(-1.5)),
        ("constant 1e-05", Constant(1e-5)),
        ("normal 0.02 1.0", Normal(0.02, mean=1.0)),
        ("uniform -0.5 0.5", Uniform(-0.5, 0.5)),
    ],
)
def test_a_plans_text_is_an_initializer(text, initializer):
    assert parse_initializer(text) == initializer
