"""Parameters of functions: sizes, also where they stand in a list."""

import doctest

from legacy.source.basics.expressions import Item, Listing, Literal, Name, Scoped, Value, Variable, call
from legacy.source.lines.statements import Statement
from legacy.source.repeats import parameters


def found(*shapes):
    """The parameters of blocks that reshape a tensor, and what stands for the shape."""
    blocks = [[Statement((f"y{n}:0",), call("tf.reshape", Value(f"x{n}:0"), shape))] for n, shape in enumerate(shapes)]
    made = parameters.Parameters(blocks, lambda tensor: None)
    return made, made.contents(0)[-1]


def test_the_docstrings_examples_hold():
    assert doctest.testmod(parameters).failed == 0


def test_the_only_size_in_which_lists_differ_is_a_parameter():
    made, shape = found([-1, 64], [-1, 32])
    assert made.parameters == ["x", "units"] and shape == Listing((Literal(-1), Name("units")))
    assert [made.arguments(block)[1] for block in (0, 1)] == [Literal(64), Literal(32)]
    made, shape = found([4, 3], [2, 3])
    assert made.parameters == ["x", "size"] and shape == Listing((Name("size"), Literal(3)))


def test_lists_that_differ_by_more_are_parameters_themselves():
    made, shape = found([4, 64], [2, 32])
    assert made.parameters == ["x", "shape"] and shape == Name("shape")


def asked(*names):
    """The parameters of blocks that ask for the variables of these names each, and what stands for the names."""
    named = [[Name(f'f"{n}"') if "{" in n else n for n in own] for own in names]
    blocks = [[Statement((f"{n}:0",), Variable(n, (4,))) for n in own] for own in named]
    made = parameters.Parameters(blocks, lambda tensor: None)
    return made, [made.contents(row)[0] for row in range(len(blocks[0]))]


def test_what_the_names_of_several_variables_differ_in_is_one_parameter():
    made, names = asked(("net/w3a", "net/b3a"), ("net/w3b", "net/b3b"), ("net/wout", "net/bout"))
    assert made.parameters == ["layer"] and names == [Name('f"net/w{layer}"'), Name('f"net/b{layer}"')]
    assert [made.arguments(block) for block in range(3)] == [[Literal("3a")], [Literal("3b")], [Literal("out")]]


def test_what_several_folders_differ_in_tears_no_word():
    folders = [f"layer_{index}/{name}" for index in "01" for name in ("out", "output")]
    made, names = asked(*((f"net/{one}/w", "net/first", f"net/{one}/b") for one in folders))
    assert made.parameters == ["layer"] and names[::2] == [Name('f"net/{layer}/w"'), Name('f"net/{layer}/b"')]
    assert made.arguments(3) == [Literal("layer_1/output")]


def test_names_that_differ_otherwise_or_of_one_variable_are_parameters_themselves():
    made, names = asked(("w3a", "first"), ("w3b", "second"))
    assert made.parameters == ["name", "name2"] and names == [Name("name"), Name("name2")]
    assert asked(("w3a",), ("w3b",))[0].parameters == ["name"]


def test_numbers_of_names_are_whole_numbers():
    made, names = asked(("w1", "b1"), ("w2", "b2"))
    assert made.parameters == ["index"] and made.arguments(1) == [Literal(2)]


def test_numbers_that_begin_with_zeros_stay_texts():
    made, names = asked(("w003", "b003"), ("w010", "b010"))
    assert made.parameters == ["layer"] and made.arguments(0) == [Literal("003")] and names[0] == Name('f"w{layer}"')


def test_what_names_with_a_number_in_braces_begin_with_is_a_parameter():
    made, names = asked(("h{index}/attn/w", "h{index}/attn/b"), ("h{index}/mlp/w", "h{index}/mlp/b"))
    assert made.parameters == ["name"] and names == [Scoped(Name("name"), "/w"), Scoped(Name("name"), "/b")]
    assert [made.arguments(block) for block in (0, 1)] == [[Name('f"h{index}/attn"')], [Name('f"h{index}/mlp"')]]
    made, names = asked(("a/h{index}/w", "a/b"), ("b/h{index}/w", "b/b"))  # in the function there is no index
    assert made.parameters == ["name", "name2"] and names == [Name("name"), Name("name2")]
    assert made.arguments(0) == [Name('f"a/h{index}/w"'), Literal("a/b")]


def test_a_parameter_has_no_name_of_a_function_that_is_called_beside_it():
    def block(kind, number):
        return [Statement((f"y{number}:0",), call("units", call("tf.reshape", Value(f"x{number}:0"), [-1, kind])))]

    made = parameters.Parameters([block(64, 0), block(32, 1)], lambda tensor: None)
    assert made.parameters == ["x", "units2"]


def called(*layers):
    """The parameters of blocks that call a function for two layers each, and what stands for these."""
    blocks = [
        [Statement((f"{n}{layer}:0",), call("norm", Value("x:0"), layer=layer)) for n, layer in enumerate(own)]
        for own in layers
    ]
    made = parameters.Parameters(blocks, lambda tensor: None)
    return made, [made.contents(row)[-1] for row in range(len(blocks[0]))]


def test_a_name_that_is_made_of_another_one_is_no_parameter():
    made, names = called(("e1", "e1_bn"), ("b", "b_bn"), ("d1", "d1_bn"))
    assert made.parameters == ["x", "layer"] and names == [Name("layer"), Name('f"{layer}_bn"')]
    made, names = called(("e1", "e1_bn"), ("b", "d1_bn"))
    assert made.parameters == ["x", "layer", "layer2"] and names == [Name("layer"), Name("layer2")]


def test_a_name_that_is_made_of_a_number_is_no_parameter():
    def numbered(*layers):
        blocks = [
            [
                Statement((f"w{index}:0",), Variable(f"net/layer_{index}/w", (4,))),
                Statement((f"v{index}:0",), Variable("net/first", (4,))),
                Statement((f"n{index}:0",), call("norm", Value("x:0"), layer=layer)),
            ]
            for index, layer in enumerate(layers)
        ]
        return parameters.Parameters(blocks, lambda tensor: None)

    assert numbered("layer_0/out", "layer_1/out").parameters == ["x", "index"]
    assert numbered("layer_0/out", "layer_0/in").parameters == ["x", "layer", "index"]


def of_inputs(*inputs):
    """The names of the parameters of blocks that multiply two inputs each, of these names."""
    blocks = [
        [Statement((f"y{n}:0",), call("tf.multiply", *(Item(Name("batch"), f'"{one}"') for one in pair)))]
        for n, pair in enumerate(inputs)
    ]
    return parameters.Parameters(blocks, lambda tensor: None).parameters


def test_a_tensor_has_the_word_that_the_names_of_its_inputs_end_with():
    assert of_inputs(("query", "query_mask"), ("document", "document_mask")) == ["x", "mask"]
    assert of_inputs(("query_mask", "query"), ("document_mask", "document")) == ["mask", "x"]
    assert of_inputs(("query_ids", "query_mask"), ("document_ids", "document_weight")) == ["ids", "x"]
    assert of_inputs(("a_mask", "b_mask"), ("c_mask", "d_mask")) == ["mask", "x"]  # the second one has no word
    assert of_inputs(("scope", "a_x"), ("my_scope", "b_x")) == ["x", "y"]  # a word of the text's own, and a letter
