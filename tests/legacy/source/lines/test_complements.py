"""Constants that are 1 - decay in float32 have a name and keep their bits."""

import numpy as np

from legacy.source.basics.expressions import Infix, Literal, Name, call
from legacy.source.lines.complements import decay_of, name_complements
from legacy.source.lines.statements import Statement

SHARE = np.float32(1.0) - np.float32(0.95)


def scaled(value):
    return Statement((), Infix("*", Name("x"), Literal(value)))


def test_a_decay_whose_complement_has_many_digits_is_named():
    assert str(SHARE) == "0.050000012" and decay_of(SHARE) == 0.95
    statements, constants = name_complements([scaled(SHARE), scaled(SHARE), scaled(np.float32(0.05))])
    assert statements == [scaled(SHARE)._replace(expression=Infix("*", Name("x"), Name("UPDATE_RATE")))] * 2 + [
        scaled(np.float32(0.05))
    ]
    assert constants == {"UPDATE_RATE": (SHARE, 0.95)}


def test_other_long_numbers_and_numbers_of_python_stay():
    kept = [scaled(np.float32(0.12345678)), scaled(float(SHARE)), scaled(np.float32(1 / 3))]
    assert name_complements(kept) == (kept, {})


def test_each_decay_has_a_name_of_its_own():
    other = np.float32(1.0) - np.float32(0.99)
    _, constants = name_complements([scaled(SHARE), scaled(other)])
    assert constants == {"UPDATE_RATE": (SHARE, 0.95), "UPDATE_RATE_2": (other, 0.99)}


def test_a_rate_of_dropout_has_the_name_of_what_it_is():
    dropped = Statement((), call("dropout_by_rate", Name("x"), SHARE, Name("noise")))
    _, constants = name_complements([dropped, scaled(np.float32(1.0) - np.float32(0.99))])
    assert list(constants) == ["DROPOUT_RATE", "UPDATE_RATE"]
