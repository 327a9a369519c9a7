"""Updates that no named optimizer describes: lists over the towers, loops over the weights, order of the changes."""

import ast
import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.basics.expressions import Listing, Name, Value, call
from legacy.source.basics.initial import first_values
from legacy.source.basics.rendering import expression_text
from legacy.source.replica_step.lines import has_rows, listed
from legacy.source.source import SourceOptions, source_of_analysis
from legacy.source.standalone import update_text
from legacy.source.step.input_names import input_names, stream_name
from legacy.source.update.changes.actions import actions_of
from legacy.source.update.changes.calls import change_call, local
from legacy.source.update.changes.per_weight import comprehension
from legacy.source.update.changes.towers import with_lists, with_sums_in_order
from legacy.source.update.changes.waves import steps_of
from legacy.source.update.changes.weight_loops import of_name
from legacy.source.update.paths import find_path
from legacy.source.update.written import WrittenStep
from tests import old_programs
from tests.legacy.variants.programs import TOWERS, split_batch, sum_of_squares, towers, weights
from workloads.lifted.plan import Effect, Input, Variable
from workloads.lifted.workload import load_lift

v1 = tf.compat.v1


def of_towers(make, count=2):
    return call("tf.add_n", Listing(tuple(make(Name(f"gradients[name][{tower}]")) for tower in range(count))))


def test_what_is_done_to_each_tower_alike_is_a_list():
    assert expression_text(with_lists(of_towers(lambda one: one), 2)) == "tf.add_n(gradients[name])"
    squares = with_lists(of_towers(lambda one: call("tf.square", one)), 2)
    assert expression_text(squares) == "tf.add_n([tf.square(gradient) for gradient in gradients[name]])"


def test_three_terms_of_an_update_are_added_in_order():
    assert expression_text(with_lists(with_sums_in_order(of_towers(lambda one: one, 3)), 3)) == "sum(gradients[name])"
    assert with_sums_in_order(of_towers(lambda one: one)) == of_towers(lambda one: one)


def test_a_list_of_some_towers_or_of_other_values_stays():
    two_of_three = of_towers(lambda one: one)
    assert with_lists(two_of_three, 3) == two_of_three
    with_value = Listing((Name("losses[0]"), Value("x:0")))
    assert with_lists(with_value, 2) == with_value
    swapped = Listing((Name("losses[1]"), Name("losses[0]")))
    assert with_lists(swapped, 2) == swapped


@pytest.mark.parametrize(
    "text, expected",
    [
        ('values["net/w"]', "values[name]"),
        ('variables["net/w/Adam_1"].handle', 'variables[name + "/Adam_1"].handle'),
        ('values["shadow/net/w"]', 'values[f"shadow/{name}"]'),
        ('values["net/w2"]', 'values["net/w2"]'),
    ],
)
def test_a_loop_over_weights_has_their_name_as_a_variable(text, expected):
    assert of_name(text, "net/w") == expected


def test_first_values_are_those_of_the_initializers_or_of_the_values_at_hand():
    variables = [Variable(name, [2], "float32", "slot") for name in ("zeros", "constant", "filled", "drawn")]
    texts = {"zeros": "ZEROS", "constant": "initializers.Constant(0.5)"}
    initial = {name: np.float32([3, 3]) for name in ("zeros", "constant", "filled")}
    found = first_values(variables, texts, {**initial, "drawn": np.float32([1, 2])})
    assert found == {"zeros": 0.0, "constant": 0.5, "filled": 3.0, "drawn": 0.0}


def test_a_long_list_has_a_line_for_each_item():
    assert listed("A", ["x"]) == ['A = ["x"]']
    lines = listed("WEIGHTS", [f"layer_{number}/kernel" for number in range(9)])
    assert lines[0] == "WEIGHTS = [" and lines[-1] == "]" and max(map(len, lines)) <= 120


def lift(name):
    return load_lift(old_programs.lifted(name))


def test_gradients_that_are_averaged_are_reduced_and_others_are_those_of_all_towers():
    gan, odd, rows = lift("l_gan"), lift("i_odd_combine"), lift("g_embedding_adagrad")
    path = find_path(gan.plan, gan.graph, gan.plan.phases[0])
    assert path.combine == "mean" and path.clip.how == "value" and path.clip_after is None
    path = find_path(odd.plan, odd.graph, odd.plan.phases[0])
    assert path.combine == "" and {"losses[2]", 'gradients["m/dense/bias"][0]'} <= {
        n.text for n in path.tensors.values()
    }
    path = find_path(rows.plan, rows.graph, rows.plan.phases[0])
    assert path.rows == ["lm/embedding"] and Name('gradients["lm/embedding"].indices') in path.tensors.values()
    assert WrittenStep([], {}, []).any_number


def test_changes_of_changed_values_are_a_wave_of_their_own():
    gan = lift("l_gan")
    phase = gan.plan.phases[0]
    path = find_path(gan.plan, gan.graph, phase)
    actions = actions_of(gan.plan, gan.graph, phase, phase.effects, list(path.tensors), {}, {})
    first, second = steps_of(actions, gan.plan.variables)
    assert {effect.op for unit in first.units for effect in unit.effects} == {"ApplyRMSProp"}
    assert {effect.op for unit in second.units for effect in unit.effects} == {"Assign"}


def test_an_assignment_is_a_method_of_the_replicas_own_variable():
    made = change_call(None, Effect("op", "AssignSub", ["w"], ["x:0"]), [Value("x:0")])
    assert expression_text(made) == expression_text(local("w")) + ".assign_sub(<x:0>)"


def test_the_text_that_all_written_updates_share_is_python():
    assert [node.name for node in ast.parse(update_text.GATHER).body] == ["gather"]
    assert has_rows("tf.nn.embedding_lookup(x)") and not has_rows("tf.matmul(x)")
    assert stream_name("t/drop/random_uniform/RandomUniform", ["t/drop/random_uniform/RandomUniform"]) == "drop"


@pytest.mark.parametrize("low, name", [(0, "labels"), (1, "lengths")])
def test_integers_above_zero_are_lengths(low, name):
    """An input without a name of its own is named after what data of its shape mostly are."""
    queue = Input("dequeue__1", "int32", [None], "batch", 0, [], "queue:1", low=low)
    plan = types.SimpleNamespace(inputs=[queue], common=[], noise=[], common_noise=[], phases=[], batch=4, towers=2)
    assert list(input_names(plan).inputs) == [name]


@pytest.mark.parametrize("shape, name", [([4, 8, 8, 3], "images"), ([4, 1, 1, 9], "features"), ([4, 9], "features")])
def test_vectors_of_any_rank_are_features(shape, name):
    split = Input("split", "float32", shape, "batch", 0, [], "queue:0")
    plan = types.SimpleNamespace(inputs=[split], common=[], noise=[], common_noise=[], phases=[], batch=4, towers=2)
    assert list(input_names(plan).inputs) == [name]


@pytest.mark.parametrize("name, constant", [("Placeholder_1", "LEARNING_RATE"), ("pace", "PACE")])
def test_a_learning_rate_that_was_fed_is_named_after_its_use_where_its_placeholder_has_no_name(name, constant):
    rate = Input(name, "float32", [], "setting", 0, [name + ":0"], name + ":0")
    other = Input("Placeholder", "float32", [], "setting", 0, ["Placeholder:0"], "Placeholder:0")
    phase = types.SimpleNamespace(effects=[types.SimpleNamespace(learning_rate=name + ":0")])
    plan = types.SimpleNamespace(
        inputs=[], common=[rate, other], noise=[], common_noise=[], phases=[phase], batch=4, towers=2
    )
    assert input_names(plan).settings == {constant: name, "PLACEHOLDER": "Placeholder"}


def source(build, tmp_path):
    """The standalone source of a program that `build` makes in a graph of its own; it returns the train op or ops."""
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        built = build()
        names = [op.name for op in (built if isinstance(built, list) else [built])]
        path = str(tmp_path / "graph.meta")
        v1.train.export_meta_graph(path)
    made = []
    lift_graph(
        path,
        None,
        options=LiftOptions(names),
        use=lambda *found: made.append(source_of_analysis(*found, SourceOptions(style="standalone"))),
    )
    return made[0].text


def test_a_train_op_without_a_loss_changes_variables_in_its_turn(tmp_path):
    def build():
        xs = split_batch()
        mean = tf.add_n(towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0])) / TOWERS
        train = v1.train.MomentumOptimizer(0.1, 0.9).apply_gradients([(mean, weights())])
        clip = v1.assign(weights(), tf.clip_by_value(weights(), -0.01, 0.01))
        return [train, clip.op]

    text = source(build, tmp_path)
    assert "TRAIN_OPS = [momentum, assign]" in text
    body = text.partition("def assign(")[2].partition("\n\n\n")[0].splitlines()
    assert body[-2:] == [
        '    variables["net/w"].assign(tf.clip_by_value(values["net/w"], -0.01, 0.01))',
        "    return tf.zeros([])",
    ]
    assert "loss" not in "".join(body[2:]) and text.count("get_concrete_function(Scope(") == 1


def test_an_optimizer_that_was_written_by_hand_is_written_in_its_order(tmp_path):
    def build():
        xs, moment = split_batch(), v1.get_variable("net/w/moment", [3, 2], trainable=False, use_resource=False)
        gradient = tf.add_n(towers(lambda tower: tf.gradients(sum_of_squares(xs[tower]), [weights()])[0]))
        moved = v1.assign(moment, 0.5 * moment + gradient)
        return v1.assign_sub(weights(), 0.25 * moved)

    lines = source(build, tmp_path).splitlines()
    first = lines.index('    variables["net/w/moment"].assign(0.5 * values["net/w/moment"] + gradients["net/w"])')
    assert lines[first + 1] == '    variables["net/w"].assign_sub(0.25 * variables["net/w/moment"].read_value())'


def test_a_penalty_outside_of_the_towers_is_part_of_the_update(tmp_path):
    def build():
        xs = split_batch()
        loss = tf.add_n(towers(lambda tower: sum_of_squares(xs[tower]))) / TOWERS + tf.nn.l2_loss(weights())
        return v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    text = source(build, tmp_path)
    assert "seed = tf.constant(0.5)" in text and "seed, unconnected_gradients" in text
    assert 'sum([values["net/w"], *gradients["net/w"]])' in text


def test_a_list_of_all_weights_values_is_a_comprehension():
    texts = [f'tf.square(combined["{name}"])' for name in ("a", "b")]
    assert comprehension(texts, {"OTHERS": ["b", "a"], "WEIGHTS": ["a", "b"]}) == Name(
        "[tf.square(combined[name]) for name in WEIGHTS]"
    )
    assert comprehension([texts[0], "tf.abs" + texts[1][9:]], {"WEIGHTS": ["a", "b"]}) is None
    finite = [f'tf.math.is_finite(gradients["{name}"])' for name in ("a", "b")]
    assert comprehension(finite, {"ALL": ["a", "b"]}) == Name("[tf.math.is_finite(gradients[name]) for name in ALL]")
