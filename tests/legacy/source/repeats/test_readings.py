"""What is read of statements, kept for each expression."""

from legacy.source.basics.expressions import Infix, Value
from legacy.source.lines.holes import skeleton
from legacy.source.lines.statements import Statement
from legacy.source.repeats.readings import Readings


def test_each_expression_is_read_once():
    read, first = Readings(), Statement(("c",), Infix("+", Value("a"), Value("b")))
    assert read.uses(first) == ["a", "b"] and read.uses(first) is read.uses(first)
    assert read.skeleton(first) == skeleton(first.expression) and read.skeleton(first) is read.skeleton(first)


def test_equal_and_new_expressions_have_answers_of_their_own():
    read = Readings()
    for number in range(100):  # of which some get the place in memory of one that is gone, unless these are kept
        assert read.uses(Statement(("c",), Infix("+", Value("a"), Value(str(number))))) == ["a", str(number)]
