"""A sum in order that is divided by the number of its terms is a mean."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Infix, Listing, Literal, Name, Value, call
from legacy.source.lines.means import FUNCTIONS, name_means
from legacy.source.lines.statements import Statement

TERMS = Listing((Value("a:0"), Value("b:0"), Value("c:0")))


def named(function, right, symbol="/"):
    (statement,) = name_means([Statement((), Infix(symbol, call(function, TERMS), right))])
    return statement.expression


def test_a_mean_of_terms_is_a_call():
    assert named("add_in_order", Literal(np.float32(3))) == call("mean_in_order", TERMS)


@pytest.mark.parametrize(
    "function, right, symbol",
    [
        ("add_in_order", Literal(np.float32(2)), "/"),
        ("add_in_order", Literal(np.float32(3)), "*"),
        ("add_in_order", Name("scope.replicas"), "/"),
        ("sum", Literal(np.float32(3)), "/"),
    ],
)
def test_another_quotient_stays(function, right, symbol):
    assert named(function, right, symbol) == Infix(symbol, call(function, TERMS), right)


def test_the_function_has_the_bits_of_the_quotient():
    space = {"tf": tf}
    exec("\n".join(FUNCTIONS["mean_in_order"]), space)
    terms = list(np.random.RandomState(0).randn(7).astype(np.float32))
    total = np.float32(0)
    for term in terms:
        total = np.float32(total + term)
    assert space["mean_in_order"](terms).numpy() == total / np.float32(7)
