"""Names of values: layers that are used much later, and names that other things have."""

from legacy.source.basics.expressions import Call, Infix, Item, Lambda, Listing, Literal, Name, Value, Variable, call
from legacy.source.functions.function_lines import statement_lines
from legacy.source.lines import identifiers, name_hints
from legacy.source.lines.naming import LONG_LIVED, name_values
from legacy.source.lines.statements import Statement


def chain(count, first):
    """A line for each of some layers, and a last one that adds the first layer's value to the last layer's."""
    names = ["net/x:0", first, *(f"net/layer_{n}/Relu:0" for n in range(2, count + 1))]
    lines = [Statement((new,), call("tf.nn.relu", Value(old))) for old, new in zip(names, names[1:])]
    return [*lines, Statement(("net/Add:0",), call("tf.add", Value(names[-1]), Value(first)))]


def names_of(statements, others=()):
    return name_values(statements, ["net/Add:0"], {"net/x:0": "x"}, lambda tensor: [4, 4], others)


def test_a_value_that_is_used_much_later_has_the_name_of_its_layer():
    first = "net/encoder/conv_1/Relu:0"
    assert names_of(chain(LONG_LIVED + 2, first))[first] == "conv_1"
    assert names_of(chain(LONG_LIVED - 2, first))[first] == "x"


def test_no_value_has_the_name_of_the_scope_that_most_values_are_in():
    """So a mask of a tower is not called after the tower, where penalties on weights lie outside of it."""
    lines = [*chain(LONG_LIVED + 2, "net/mask:0"), Statement(("w/Regularizer:0",), call("tf.nn.l2_loss", Name("w")))]
    assert names_of(lines)["net/mask:0"] == "x"


def test_a_name_that_begins_with_a_number_is_one_that_python_takes():
    for scope, name in (("64_block1", "block1"), ("3x3", "x3x3"), ("class", "class_")):
        first = f"net/{scope}/Relu:0"
        assert names_of(chain(LONG_LIVED + 2, first))[first] == name


def test_no_value_has_the_name_of_a_builtin_or_of_a_module():
    """Which the text uses, as `int(x.shape[0])` for the number of rows and `initializers.Constant` do."""
    for scope in ("len", "int", "initializers", "optimizers", "input", "gather"):
        first = f"net/{scope}/Relu:0"
        assert names_of(chain(LONG_LIVED + 2, first))[first] == scope + "_"
    assert identifiers.identifier("net/length") == "length"


def test_no_value_has_the_name_of_a_function_that_is_called():
    first = "net/decoder/conv/Relu:0"
    lines = chain(LONG_LIVED + 2, first)
    lines[2] = Statement(lines[2].targets, Call("conv", lines[2].expression.arguments))
    assert names_of(lines)[first] == "decoder"
    losses = Statement(("net/loss:0",), call("tf.reduce_mean", Value("net/x:0")))
    own = Statement(("net/Add:0",), call("loss", Value("net/loss:0"), Value("net/loss:0")))
    assert name_values([losses, own], ["net/Add:0"], {"net/x:0": "x"}, lambda tensor: [])["net/loss:0"] == "loss2"


def test_a_value_in_the_scope_of_a_loss_is_not_called_so():
    for scope, name in (("loss_xent", "x"), ("head/loss", "head"), ("head/logits", "head"), ("head/mask1", "mask1")):
        first = f"net/{scope}/Cast:0"
        assert names_of(chain(LONG_LIVED + 2, first))[first] == name


def test_no_value_has_the_name_of_a_parameter_that_is_no_tensor():
    lines = [Statement(("net/size:0",), call("tf.size", Value("net/x:0")))]
    lines.append(Statement(("net/Add:0",), call("tf.add", Value("net/size:0"), Value("net/size:0"), Name("size"))))
    assert name_values(lines, ["net/Add:0"], {"net/x:0": "x"}, lambda tensor: [])["net/size:0"] == "size"
    assert name_values(lines, ["net/Add:0"], {"net/x:0": "x"}, lambda tensor: [], ["size"])["net/size:0"] == "size2"


def test_a_weight_that_a_function_hands_on_has_the_last_part_of_its_name():
    gamma = "feed_73_net_block1_conv1_bn1_gamma:0"
    lines = [Statement((gamma, "net/out:0"), Call("norm", call("tf.nn.relu", Value("net/x:0")).arguments))]
    lines.append(Statement(("net/Add:0",), call("tf.add", Value(gamma), Value("net/out:0"))))
    assert name_values(lines, ["net/Add:0"], {"net/x:0": "x"}, lambda tensor: [4])[gamma] == "gamma"


def test_many_equal_parts_are_a_list():
    parts = tuple(f"net/unstack:{n}" for n in range(5))
    lines = [Statement(parts, call("tf.unstack", Value("net/x:0"), axis=1))]
    lines.append(Statement(("net/Add:0",), call("tf.add", Value(parts[1]), Value(parts[4]))))
    names = names_of(lines)
    assert [names[part] for part in parts] == [f"steps[{n}]" for n in range(5)]
    assert statement_lines(lines, names)[0] == "    steps = tf.unstack(x, axis=1)"
    few = [lines[0]._replace(targets=parts[:2]), lines[1]._replace(expression=call("tf.add", *map(Value, parts[:2])))]
    assert statement_lines(few, names_of(few))[0] == "    x, y = tf.unstack(x, axis=1)"


def test_variables_with_one_word_have_the_names_of_their_layers_too():
    asked = [Statement((f"{layer}:0",), Variable(f"net/{layer}/w", (3, 3), "", True)) for layer in ("fc1", "fc2")]
    last = Statement(("net/Add:0",), call("tf.add", Value("fc1:0"), Value("fc2:0")))
    assert list(names_of([*asked, last]).values())[1:3] == ["fc1_w", "fc2_w"]
    assert names_of([asked[0], last])["fc1:0"] == "w"


def test_scalars_and_updates_are_called_after_what_they_are():
    def name_of(expression, shape):
        target = "net/Add:0" if shape is not None else "update/mul:0"
        return name_values([Statement((target,), expression)], [target], {}, lambda tensor: shape)[target]

    assert name_of(call("tf.nn.l2_loss", Name("w")), []) == "penalty"
    assert name_of(call("sum", Name('[tf.nn.l2_loss(scope.get(name)) for name in scope.names("/w")]')), []) == "penalty"
    assert name_of(Infix("+", Name("a"), Name("b")), []) == "total"
    old, new = Infix("*", Name("a"), Name("b")), Infix("*", Name("c"), Name("d"))
    assert name_of(Infix("+", old, new), None) == "average"
    assert name_of(Infix("+", call("tf.sqrt", Name("a")), Name("b")), None) == "denominator"
    squares = Infix("*", Name("c"), call("tf.square", Name("d")))
    assert name_of(Infix("+", old, squares), None) == "average_of_squares"
    quotient = Infix("/", Name("a"), Infix("+", call("tf.sqrt", Name("b")), Name("c")))
    assert name_of(quotient, None) == name_of(Infix("+", quotient, old), None) == "update"
    assert name_of(Infix("/", Name("a"), Name("b")), None) == name_of(Infix("-", Name("a"), new), None) == "x"
    assert name_of(Infix("-", Name("values[name]"), new), None) == "new_value"
    assert name_of(Infix("-", old, new), None) == "x"


def test_what_dropout_gets_is_its_rate():
    rate = Statement(("net/sub:0",), Infix("-", Name("a"), Name("b")))
    drop = Statement(("net/Add:0",), Call("dropout_by_rate", call("f", Name("x"), Value("net/sub:0")).arguments))
    assert name_values([rate, drop], ["net/Add:0"], {}, lambda tensor: [])["net/sub:0"] == "rate"


def test_words_that_text_uses_are_no_names():
    assert identifiers.identifier("net/batch") == "batch_" and callable(name_hints.hint)


def test_a_value_that_a_later_update_takes_as_its_learning_rate_is_called_rate():
    lines = [Statement(("net/Merge:0",), call("tf.where", Value("net/x:0"), 0.5, 0.25))]
    update = call("tf.raw_ops.ResourceApplyAdam", lr=Value("net/Merge:0"))
    own = name_values(lines, ["net/Merge:0"], {"net/x:0": "x"}, lambda tensor: [])["net/Merge:0"]
    named = name_values(lines, ["net/Merge:0"], {"net/x:0": "x"}, lambda tensor: [], users=[update])["net/Merge:0"]
    assert named == "rate" != own


def test_sizes_and_ends_of_loops_are_named_so():
    size = Statement(("net/strided_slice:0",), Item(call("tf.shape", Name("y")), "0"))
    least = Statement(("net/Minimum:0",), call("tf.minimum", Name("n"), 8))
    below = Infix("&", Infix("<", Name("time"), Literal(8)), Infix("<", Name("time"), Value("net/Minimum:0")))
    loop = call("tf.while_loop", Lambda("time", below), Name("step"), Listing((Literal(0),)))
    taken = call("f", Value("net/Minimum:0"), Value("net/strided_slice:0"))
    lines = [size, least, Statement(("net/Exit:0",), loop), Statement(("net/Add:0",), taken)]
    names = name_values(lines, ["net/Add:0"], {}, lambda tensor: [])
    assert (names["net/strided_slice:0"], names["net/Minimum:0"]) == ("size", "steps")
    others = name_values([size, least, lines[-1]], ["net/Add:0"], {}, lambda tensor: [])
    assert others["net/Minimum:0"] == "least"


def test_a_vector_has_the_name_of_the_variable_that_it_is_made_of_alone():
    asked = Variable("net/scale", (2,))
    of_weights, of_data = Infix("*", asked, Literal(2.0)), Infix("*", asked, Value("net/x:0"))
    for expression, name in ((of_weights, "scale"), (of_data, "y")):
        made = Statement(("net/mul:0",), expression)
        named = name_values([made], ["net/mul:0", "net/x:0"], {"net/x:0": "x"}, lambda tensor: [2])
        assert named["net/mul:0"] == name


def branch(layer, *, outer="net"):
    """A layer whose value is added to what it is made of, which `x` still names."""
    kernel = Variable(f"{outer}/{layer}/kernel", (4, 4), "", True)
    return [
        Statement(("net/MatMul:0",), call("tf.matmul", Value("net/x:0"), kernel)),
        Statement(("net/Tanh:0",), call("tf.tanh", Value("net/MatMul:0"))),
        Statement(("net/Add:0",), call("tf.add", Value("net/x:0"), Value("net/Tanh:0"))),
    ]


def test_a_branch_beside_the_first_value_has_the_name_of_its_layer():
    names = names_of(branch("query"))
    assert (names["net/MatMul:0"], names["net/Tanh:0"], names["net/Add:0"]) == ("query", "query", "x")


def test_no_branch_has_the_name_of_a_kind_of_layers_or_one_with_a_number():
    for layer in ("dense", "dense_3", "fc1", "fully_connected", "a_name_of_many_letters"):
        assert names_of(branch(layer))["net/MatMul:0"] == "y"


def test_no_branch_has_the_name_of_a_folder_of_other_layers_or_of_a_function():
    others = [Statement((), Variable("net/query/inner/kernel", (4, 4), "", True))]
    assert names_of([*branch("query"), *others])["net/MatMul:0"] == "y"
    assert names_of(branch("query"), others=["query"])["net/MatMul:0"] == "y"


def test_a_layer_in_place_of_the_first_value_is_still_named_x():
    kernel = Variable("net/query/kernel", (4, 4), "", True)
    line = Statement(("net/Add:0",), call("tf.matmul", Value("net/x:0"), kernel))
    assert names_of([line])["net/Add:0"] == "x"


def test_a_comparison_with_a_number_is_a_mask_and_one_of_two_tensors_is_none():
    tokens, others = Value("net/tokens:0"), Value("net/others:0")
    for function in ("tf.not_equal", "tf.equal"):
        for other, name in ((Literal(0), "mask"), (others, "x")):
            kept = call("tf.cast", call(function, tokens, other), Name("tf.float32"))
            assert name_hints.hint(Statement(("net/Cast:0",), kept), 0, [4, 6]) == name


def test_a_count_of_steps_as_a_float_is_a_step():
    for text, name in (('values["global_step"]', "step"), ('values["rate"]', "x")):
        for count in (Name(text), Infix("+", Name(text), Literal(1))):
            statement = Statement(("net/Cast:0",), call("tf.cast", count, Name("tf.float32")))
            assert name_hints.hint(statement, 0, []) == name
    doubled = call("tf.cast", Infix("*", Name('values["global_step"]'), Literal(2)), Name("tf.float32"))
    assert name_hints.hint(Statement(("net/Cast:0",), doubled), 0, []) == "x"


def test_squared_distances_of_norms_from_one_are_a_penalty():
    norms = call("tf.sqrt", call("tf.reduce_sum", Value("net/squares:0")))
    for base, name in (
        (Infix("-", norms, Literal(1.0)), "penalty"),
        (Infix("-", call("tf.norm", Value("net/g:0")), Literal(1.0)), "penalty"),
        (Infix("-", norms, Literal(0.5)), "product"),
        (Infix("-", Value("net/x:0"), Literal(1.0)), "product"),
        (norms, "product"),
    ):
        for square in (Infix("**", base, Literal(2.0)), call("tf.square", base)):
            scaled = Infix("*", Literal(10.0), call("tf.reduce_mean", square))
            assert name_hints.hint(Statement(("net/mul:0",), scaled), 0, []) == name
