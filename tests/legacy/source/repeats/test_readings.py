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


def test_all_statements_are_read_again_where_one_of_them_is_another():
    read, asked = Readings(), []
    statements = [Statement((name,), Value("x")) for name in "abc"]

    def names(given):
        asked.append([statement.targets[0] for statement in given])
        return asked[-1]

    assert read.of_all(statements, names) is read.of_all(list(statements), names)
    statements[1:] = [Statement(("d",), Value("x"))]  # as where a call takes the place of a block
    assert read.of_all(statements, names) == ["a", "d"] and asked == [["a", "b", "c"], ["a", "d"]]


def test_blocks_are_asked_for_once_and_what_else_the_answer_depends_on_counts():
    read, asked = Readings(), []
    first, second, third = (Statement((name,), Value("x")) for name in "abc")

    def answer(blocks, beside):
        return read.of_blocks(blocks, beside, lambda: asked.append(beside) or len(asked))

    assert answer([[first], [second]], "a") == answer([[first], [second]], "a") == 1
    assert answer([[first], [second]], "b") == 2  # other results
    assert answer([[first, second]], "a") == 3  # one block
    assert answer([[first], [third]], "a") == 4
    for number in range(100):  # statements that are gone leave their identities to others, unless they are kept
        assert answer([[Statement((str(number),), Value("x"))]], "a") == 5 + number
