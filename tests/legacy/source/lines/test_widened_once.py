"""A mask of rows that chooses among several tensors is given a column's shape once."""

from legacy.source.basics.expressions import Definition, Infix, Listing, Literal, Name, Value, call
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.widened_once import widened_once

MASK = Definition(("m",), Infix(">=", Name("time"), Name("length")))
COLUMN = call("tf.reshape", Value("m"), [-1, 1])


def texts(*ends, masks=("m",)):
    """The texts of the mask and of what is computed with it."""
    found = widened_once([MASK, Definition((), Listing(ends))], masks)
    return [expression_text(definition.expression) for definition in found]


def chosen(shape, name):
    return call("tf.where", shape, Name(name), Name("y"))


def test_a_mask_is_reshaped_where_it_is_computed():
    assert texts(chosen(COLUMN, "c"), chosen(COLUMN, "h")) == [
        "tf.reshape(time >= length, [-1, 1])",
        "[tf.where(<m>, c, y), tf.where(<m>, h, y)]",
    ]


def test_a_mask_with_other_uses_stays():
    other = call("tf.reshape", Value("m"), [-1, 1, 1])
    for ends in [(COLUMN,), (COLUMN, COLUMN, Value("m")), (COLUMN, other)]:
        assert texts(*ends)[0] == "time >= length"
    assert texts(COLUMN, COLUMN, masks=()) == ["time >= length", "[tf.reshape(<m>, [-1, 1]), tf.reshape(<m>, [-1, 1])]"]
    assert Literal([-1, 1]) == COLUMN.arguments[1].value
