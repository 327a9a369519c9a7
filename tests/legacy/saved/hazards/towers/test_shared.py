"""Hazards of what towers share, each with a program that does not have it."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.sync_replicas import with_own_gradients
from legacy.saved.hazards.towers import missing_gradients, placement, shared
from tests.legacy.saved.graphs import graph_of, saved, traced
from tests.legacy.saved.hazards.two_towers import G0, G1, TOWERS, hazards

v1 = tf.compat.v1
SCALAR = {"shape": tf.TensorShape([])}


@pytest.mark.parametrize(
    "check",
    [placement.misplaced_towers, shared.unused_gradients, shared.unshared_variables],
)
@pytest.mark.parametrize("text", [TOWERS, "x = Placeholder()\ny = Neg(x)\n"])
def test_a_correct_program_and_one_without_towers_have_none(check, text):
    assert hazards(check, text) == []


def test_gradients_that_no_op_applies():
    text = TOWERS.replace("ApplyGradientDescent", "NoUpdate")
    (found,) = hazards(shared.unused_gradients, text)
    assert found == ("GRADIENTS_NOT_APPLIED", G0, "2 towers compute gradients and no op updates a variable with them")


def test_a_tower_whose_gradients_are_dropped():
    found = hazards(shared.unused_gradients, TOWERS.replace(f"AddN({G0}, {G1})", f"Identity({G1})"))
    assert [(name, op) for name, op, _ in found] == [("GRADIENTS_DROPPED", G0)]
    assert found[0][2].startswith("none of the 1 ops of tower 0's backward pass reaches an update op")


@pytest.mark.parametrize("applied, dropped", [("the last tower's", [("GRADIENTS_DROPPED", 0)]), ("all", [])])
def test_gradients_of_the_last_tower_are_applied_where_the_first_one_has_the_weights(applied, dropped):
    """As of `apply_gradients(grads)` behind a loop over the towers, which gathered them in another list."""

    def build():
        halves, gradients = tf.split(v1.placeholder(tf.float32, [4, 3], "x"), 2), []
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            for tower in range(2):
                with tf.device(f"/gpu:{tower}"):
                    weights = [v1.get_variable(f"w{i}", [3, 3], use_resource=False) for i in range(3)]
                    x = halves[tower]
                    for weight in weights:
                        x = tf.tanh(tf.matmul(x, weight))
                    gradients.append(optimizer.compute_gradients(tf.reduce_mean(x)))
        means = [((one[0] + other[0]) / 2.0, one[1]) for one, other in zip(*gradients)]
        optimizer.apply_gradients(means if applied == "all" else gradients[1], name="train")

    whole = saved(traced(build), trainable_variables=["net/w0", "net/w1", "net/w2"])
    found = list(shared.unused_gradients(WholeGraph(whole, analyse_graph(whole, "small", ["train"]))))
    assert [(one.id, int(one.description.split("tower ")[1][0])) for one in found] == dropped


@pytest.mark.parametrize(
    "number, end",
    [(2.0, "train nothing; the gradients that are applied are divided by all 2 towers"), (3.0, "nothing")],
)
def test_gradients_that_are_divided_by_the_dropped_towers_too(number, end):
    text = TOWERS.replace(f"AddN({G0}, {G1})", f"RealDiv({G1}, number)") + "number = Const()"
    graph = graph_of(text, number={"value": np.array(number, np.float32)})
    (found,) = shared.unused_gradients(WholeGraph(saved(graph, trainable_variables=["v", "w"])))
    assert found.id == "GRADIENTS_DROPPED" and found.description.endswith(end)


def test_a_variable_that_one_towers_gradients_reach():
    (found,) = hazards(shared.unused_gradients, TOWERS.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = Neg({G1})"))
    assert found == ("GRADIENTS_DROPPED", "train_w", "1 variable (w) gets the gradients of tower 1 only")


@pytest.mark.parametrize("number, divided", [(2.0, ", divided by all 2 towers"), (3.0, "")])
def test_a_gradient_of_one_tower_that_is_divided_by_all_and_that_the_other_stops(number, divided):
    text = TOWERS.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = RealDiv({G1}, number)\nnumber = Const()")
    text = text.replace("tower_0/y = Mul(v, w)", "stop = StopGradient(w)\ntower_0/y = Mul(v, stop)")
    text = text.replace("MatMul(tower_0/y)", "MatMul(gradients/Fill, tower_0/y)\ngradients/Fill = Const()")
    graph = graph_of(text, number={"value": np.array(number, np.float32)})
    (found,) = shared.unused_gradients(WholeGraph(saved(graph, trainable_variables=["v", "w"])))
    text = f"1 variable (w) gets the gradients of tower 1 only{divided}; tower 0 stops those at stop"
    assert found[:3] == ("GRADIENTS_DROPPED", "train_w", text)
    whole = WholeGraph(saved(graph, trainable_variables=["v", "w"]))
    assert missing_gradients.stopped_text(whole, ["v", "w"], {0}) == "; tower 0 stops those of 1 variable at stop"
    assert missing_gradients.stopped_text(whole, ["v"], {0}) == missing_gradients.stopped_text(whole, ["w"], {1}) == ""


@pytest.mark.parametrize("stopping, is_said", [((0,), True), ((0, 1), False)])
def test_a_stop_that_each_tower_has_is_not_why_one_has_no_gradient(stopping, is_said):
    """As of an advantage: all towers stop it, and the last one's gradients of the baseline are applied alone."""

    def build():
        w, v = (v1.get_variable(name, [4, 1], use_resource=False) for name in "wv")
        gradients, errors = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x, y = (v1.placeholder(tf.float32, [8, size], f"{name}{tower}") for name, size in (("x", 4), ("y", 1)))
                value = x @ v
                advantage = tf.stop_gradient(y - value) if tower in stopping else y
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(x @ w) * advantage), [w])[0])
                errors.append(tf.gradients(tf.reduce_mean(tf.square(y - value)), [v])[0])
        pairs = [((gradients[0] + gradients[1]) / 2.0, w), (errors[1], v)]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(pairs, name="train")

    (found,) = shared.unused_gradients(WholeGraph(saved(traced(build), trainable_variables=["w", "v"])))
    assert found.description.startswith("1 variable (v) gets the gradients of tower 1 only")
    assert found.description.endswith("tower 0 stops those at tower_0/StopGradient") == is_said


def test_towers_that_each_train_variables_of_their_own():
    text = TOWERS.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = Neg({G1})")
    text = text.replace(f"sum_v = AddN({G0}, {G1})", f"sum_v = Neg({G0})")
    found = hazards(shared.unused_gradients, text)
    assert [(name, op) for name, op, _ in found] == [
        ("TOWERS_UPDATE_ALONE", "train_v"),
        ("TOWERS_UPDATE_ALONE", "train_w"),
    ]


def test_copies_of_weights_that_no_update_rule_trains_are_not_said_to_be_trained():
    """As of actors that compute gradients of copies, for weights that all of them share."""
    text = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Neg(v)")
    text = text.replace("tower_1/y = Mul(v, w)", "read = Identity(w)\ntower_1/y = Neg(read)")
    copies = text.replace("ApplyGradientDescent(v,", "ApplyGradientDescent(g,").replace("(w, sum_w)", "(g, sum_w)")
    ((_, _, found),) = hazards(shared.unshared_variables, copies + "    g = VariableV2()\n")
    assert found == "every tower has 1 variable of its own, which no update rule trains"
    set_from = "    g = VariableV2()\n    set_v = Assign(v, {})\n    set_w = Assign(w, {})\n"
    assert hazards(shared.unshared_variables, copies + set_from.format("g", "g")) == []
    ((_, _, other),) = hazards(shared.unshared_variables, copies + set_from.format("g", "z") + "    z = VariableV2()\n")
    assert other == found  # z is no variable that the update trains


def test_variables_that_each_tower_has_for_itself():
    text = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Neg(v)")
    text = text.replace("tower_1/y = Mul(v, w)", "read = Identity(w)\ntower_1/y = Neg(read)")
    text = text.replace("train_w = ApplyGradientDescent(w, sum_w)", "")  # the average is applied to tower 0's own
    (found,) = hazards(shared.unshared_variables, text)
    text_of = (
        "every tower has 1 variable of its own, and the step trains those of tower 0 alone, with all towers' gradients"
    )
    assert found[:2] == ("VARIABLES_NOT_SHARED", "v") and found[2].startswith(text_of)
    assert found[2].endswith("tower 1 computes gradients from copies that nothing changes")
    text += "\n    copied = Assign(w, v)\n    sync = NoOp(^copied)\n"
    ((_, _, other),) = hazards(shared.unshared_variables, text)
    assert other.endswith("from copies that only other runs change, such as sync")


def test_copies_that_nothing_trains_beside_those_of_a_tower_that_trains_its_own():
    """Each tower makes a head, and the list of averaged gradients ends with the first one's."""

    def build():
        w, halves = (
            v1.get_variable("w", [4, 2], use_resource=False),
            tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2),
        )
        heads, gradients = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                heads.append(v1.get_variable(f"head{tower}", [2, 1], use_resource=False))
                loss = tf.reduce_mean(tf.square(halves[tower] @ w @ heads[-1]))
                gradients.append(tf.gradients(loss, [w, heads[0]]))
        pairs = [((gradients[0][0] + gradients[1][0]) / 2.0, w), (gradients[0][1], heads[0])]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(pairs, name="train")

    graph = saved(traced(build), trainable_variables=["w", "head0", "head1"])
    (found,) = shared.unshared_variables(WholeGraph(graph, analyse_graph(graph, "made-for-a-test", ["train"])))
    end = "tower 0 alone, with fewer than all towers' gradients: tower 1 computes gradients from copies that nothing "
    assert found.id == "VARIABLES_NOT_SHARED" and found.description.endswith(end + "changes")


@pytest.mark.parametrize("own, named", [(True, "VARIABLES_NOT_SHARED"), (False, "VARIABLE_OF_SOME_TOWERS")])
def test_weights_of_each_tower_that_a_later_towers_penalty_has_too(own, named):
    """As where a model function makes some weights by `tf.Variable`, and decays all weights that there are."""

    def build():
        w, halves = (
            v1.get_variable("w", [4, 2], use_resource=False),
            tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2),
        )
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                head = v1.get_variable(f"head{tower}", [2, 1], use_resource=False) if own or tower else None
                out = halves[tower] @ w
                decay = tf.add_n([tf.nn.l2_loss(weight) for weight in v1.trainable_variables()])
                loss = tf.reduce_mean(tf.square(out if head is None else out @ head)) + 0.5 * decay
                gradients.append(tf.gradients(loss / 2.0, v1.trainable_variables()))
        sums = [tf.add_n([one for one in each if one is not None]) for each in itertools.zip_longest(*gradients)]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(sums, v1.trainable_variables()), name="train")

    graph = saved(traced(build), trainable_variables=["w", "head0", "head1"] if own else ["w", "head1"])
    (found,) = shared.unshared_variables(WholeGraph(graph, analyse_graph(graph, "made-for-a-test", ["train"])))
    assert found.id == named
    if own:
        assert found.description.endswith("1 variable of its own, which it trains alone; they share all others")


def test_a_variable_that_one_tower_reads():
    (found,) = hazards(shared.unshared_variables, TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Neg(v)"))
    assert found == ("VARIABLE_OF_SOME_TOWERS", "w", "read by tower 1 of 2 only")


def test_variables_that_the_same_towers_read_are_named_together():
    text = TOWERS.replace("tower_0/y = Mul(v, w)", "u = VariableV2()\ntower_0/y = Neg(u)")
    (found,) = hazards(shared.unshared_variables, text.replace("tower_1/y = Mul(v, w)", "tower_1/y = Mul(v, w, u)"))
    assert found == ("VARIABLE_OF_SOME_TOWERS", "v", "2 variables (v, w) are read by tower 1 of 2 only")


def test_an_assignment_in_a_tower_is_no_read():
    text = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Neg(v)\ntower_0/init = Assign(w, v)")
    (found,) = hazards(shared.unshared_variables, text)
    assert found[2] == "read by tower 1 of 2 only"


@pytest.mark.parametrize("count, listed", [(3, "(v0, v1, v2)"), (5, "(v0, v1, v2 and 2 more)")])
def test_variables_that_each_tower_updates_are_listed_with_the_number_of_the_others(count, listed):
    def build():
        weights = [v1.get_variable(f"v{number}", [4, 1], use_resource=False) for number in range(count)]
        halves = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.square(halves[tower] @ tf.add_n(weights)))
                v1.train.GradientDescentOptimizer(0.5).minimize(loss)

    names = [f"v{number}" for number in range(count)]
    (found,) = shared.unused_gradients(WholeGraph(saved(traced(build), trainable_variables=names)))
    assert found.description.startswith(f"each of the 2 towers updates {count} variables {listed} by itself")


def test_towers_that_each_update_the_same_variables():
    text = TOWERS.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = Neg({G1})")
    text = text.replace(f"sum_v = AddN({G0}, {G1})", f"sum_v = Neg({G0})").replace("(w, sum_w)", "(v, sum_w)")
    (found,) = hazards(shared.unused_gradients, text)
    assert found[:2] == ("TOWERS_UPDATE_ALONE", "train_v")
    assert found[2].startswith("each of the 2 towers updates 1 variable (v) by itself: 2 updates a step")
    assert "slot" not in found[2]
    text = text.replace("ApplyGradientDescent(v, sum_v)", "ApplyMomentum(v, a, sum_v)\n    a = VariableV2()")
    text = text.replace("ApplyGradientDescent(v, sum_w)", "ApplyMomentum(v, b, sum_w)\n    b = VariableV2()")
    (found,) = hazards(shared.unused_gradients, text)
    assert found[2].endswith("each from one tower's gradient, and with 1 slot of its own")


COPIES = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/y = Mul(v)").replace(
    "tower_1/y = Mul(v, w)", "tower_1/y = Mul(w)"
)


@pytest.mark.parametrize("forward, named", [("Mul(v)", set()), ("Mul(v, average)", {"VARIABLE_OF_SOME_TOWERS"})])
def test_an_averaged_copy_that_no_update_depends_on_is_no_variable_of_some_towers(forward, named):
    """As the generator that a GAN draws its samples from, which has trainable variables on the first device."""
    text = COPIES.replace("tower_0/y = Mul(v)", f"tower_0/y = {forward}")
    text += "\n    average = VariableV2()\n    tower_0/sample = Neg(average)\n"
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["v", "w", "average"]))
    assert {hazard.id for hazard in shared.unshared_variables(whole)} == named


def test_copies_of_a_model_that_all_towers_gradients_update_are_shared_by_hand():
    assert hazards(shared.unshared_variables, COPIES) == []
    asked = COPIES + "\n    tower_0/ready = IsVariableInitialized(w)\n"  # as sessions that wait for variables do
    assert hazards(shared.unshared_variables, asked) == []
    alone = COPIES.replace(f"AddN({G0}, {G1})", f"AddN({G0})", 1)
    (found,) = hazards(shared.unshared_variables, alone)
    assert found[0] == "VARIABLES_NOT_SHARED" and found[2].endswith("of its own: the towers train separate models")
    text = f"{alone}\n    u = VariableV2()\n    tower_0/z = Neg(u)\n    tower_1/z = Neg(u)\n"
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["u", "v", "w"]))
    (found,) = shared.unshared_variables(whole)
    assert found[2].endswith("of its own, which it trains alone; they share all others")


def hazards_of_step(check, text, train_op):
    """[(id, op, description)] that a check finds where the program runs one of its train ops."""
    shapes = {name: SCALAR for name in ("step_0", "step_1") if name in text}
    whole = WholeGraph(saved(graph_of(text, **shapes), trainable_variables=["v", "w"]))
    whole.members = whole.graph.ancestors([train_op])
    return [hazard[:3] for hazard in check(whole)]


@pytest.mark.parametrize("change, undoes", [("assign", True), ("ordered", False), ("assign_sub", False)])
def test_towers_that_assign_what_they_read_and_changed(change, undoes):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves, done = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                with tf.control_dependencies(done if change == "ordered" else []):
                    value = tf.identity(w.read_value())
                step = 0.1 * tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ value)), [value])[0]
                done.append(v1.assign_sub(w, step) if change == "assign_sub" else v1.assign(w, value - step))
        tf.group(*done, name="train")

    (found,) = shared.unused_gradients(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert found.id == "TOWERS_UPDATE_ALONE" and ("may undo the others" in found.description) == undoes


@pytest.mark.parametrize(
    "averaged, apart, end",
    [
        (True, False, "the step sets all from all towers', as by set_"),
        (True, True, "other runs set all from all towers', as by set_"),
        (False, False, "separate models"),
        (False, True, "separate models"),
    ],
)
def test_copies_that_are_averaged_are_no_separate_models(averaged, apart, end):
    def build():
        halves, copies, updates = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                copies.append(v1.get_variable(f"w{tower}", [4, 1], use_resource=False))
                loss = tf.reduce_mean(tf.square(halves[tower] @ copies[-1]))
                updates.append(v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=copies[-1:]))
        with tf.control_dependencies(updates):
            mean = (copies[0].read_value() + copies[1].read_value()) / 2.0
            values = [mean, mean] if averaged else [0.5 * copy.read_value() for copy in copies]
        names = ("set_first", "set_second")
        setters = [v1.assign(c, value, name=n) for c, value, n in zip(copies, values, names)]
        tf.group(*(updates if apart else setters), name="train")

    graph = saved(traced(build), trainable_variables=["w0", "w1"])
    (found,) = shared.unshared_variables(WholeGraph(graph, analyse_graph(graph, "made-for-a-test", ["train"])))
    assert found.id == "VARIABLES_NOT_SHARED" and end in found.description


MINIMIZED = f"""
    own_0 = ApplyGradientDescent(v, {G0})
    own_1 = ApplyGradientDescent(v, {G1})
    train = NoOp(^train_v, ^train_w)
    each = NoOp(^own_0, ^own_1)
    """


def test_updates_of_single_towers_that_the_step_does_not_run():
    """`minimize` in each tower makes them, also where the program applies averaged gradients."""
    assert hazards_of_step(shared.unused_gradients, TOWERS + MINIMIZED, "train") == []
    found = hazards_of_step(shared.unused_gradients, TOWERS + MINIMIZED, "each")
    assert [entry[0] for entry in found] == ["TOWERS_UPDATE_ALONE"]


def test_step_counters_that_each_tower_makes():
    counters = """
        step_0 = VariableV2()
        step_1 = VariableV2()
        tower_0/beta = Mul(step_0) @ /gpu:0
        tower_1/beta = Mul(step_1) @ /gpu:1
        """
    own = counters + TOWERS.replace("0/y = Mul(v, w)", "0/y = Mul(v, w, tower_0/beta)")
    own = own.replace("1/y = Mul(v, w)", "1/y = Mul(v, w, tower_1/beta)") + "train = NoOp(^train_v, ^train_w{more})"
    ((name, op, text),) = hazards_of_step(shared.unshared_values, own.format(more=""), "train")
    assert (name, op) == ("VALUES_NOT_SHARED", "step_0")
    assert text.startswith("each tower reads 1 scalar variable of its own, which the step does not change (step_0, ")
    common = own.format(more="").replace("Mul(step_1)", "Mul(step_0)")
    assert hazards_of_step(shared.unshared_values, common, "train") == []
    counted = own.format(more=", ^count_0, ^count_1") + "\ncount_0 = AssignAdd(step_0)\ncount_1 = AssignAdd(step_1)"
    assert hazards_of_step(shared.unshared_values, counted, "train") == []


QUEUED = (
    TOWERS.replace(f"sum_v = AddN({G0}, {G1})", f"both = AddN({G0}, {G1})")
    .replace(f"sum_w = AddN({G0}, {G1})", "put = QueueEnqueueV2(queue, both)\n    queue = FIFOQueueV2()")
    .replace("train_v = ", "take = QueueDequeueManyV2(queue)\n    train_v = ")
    .replace("(v, sum_v)", "(v, take)")
    .replace("(w, sum_w)", "(w, take)")
)


def test_a_queue_of_gradients_is_named_and_drops_none():
    (found,) = hazards(shared.gradients_in_queues, QUEUED)
    assert found[:2] == ("GRADIENTS_QUEUED", "queue")
    assert hazards(shared.unused_gradients, QUEUED) == []


def test_gradients_of_the_same_run_wait_nowhere():
    assert hazards(shared.gradients_in_queues, TOWERS) == hazards(shared.gradients_of_workers, TOWERS) == []


def test_accumulators_of_several_workers_are_named():
    text = TOWERS + "\n    sums = ConditionalAccumulator()\n    more = ResourceConditionalAccumulator()\n"
    (found,) = hazards(shared.gradients_of_workers, text)
    assert found[:2] == ("GRADIENTS_OF_WORKERS", "sums") and "into 2 accumulators" in found[2]
    assert "whose means a thread of the chief applies" in found[2]


@pytest.mark.parametrize("number, words", [(1, "1 gradient"), (3, "3 gradients")])
def test_the_number_of_gradients_in_each_mean_of_workers_is_said(number, words):
    def build():
        v1.train.create_global_step()
        w, v = (v1.get_variable(name, [4, 3], use_resource=False) for name in "wv")
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ (w + v)))
        descent = v1.train.GradientDescentOptimizer(0.5)
        optimizer = v1.train.SyncReplicasOptimizer(descent, replicas_to_aggregate=number)
        pairs = zip(tf.gradients(loss, [w, v]), [w, v])
        optimizer.apply_gradients(pairs, v1.train.get_global_step(), name="train")

    whole = WholeGraph(with_own_gradients(saved(traced(build), trainable_variables=["w", "v"])))
    (found,) = shared.gradients_of_workers(whole)
    assert f"whose means, of {words} each, a thread of the chief applies" in found.description


@pytest.mark.parametrize(
    "train_ops, expected", [(["train_0"], ["GRADIENTS_DROPPED"]), (["train_0", "train_1"], ["TOWERS_UPDATE_ALONE"])]
)
def test_updates_that_another_train_op_makes_are_none_of_the_run(train_ops, expected):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients = tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ w)), [w])
            v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradients[0], w)], name=f"train_{tower}")

    graph = saved(traced(build), trainable_variables=["w"])
    whole = WholeGraph(graph, analyse_graph(graph, "small", train_ops))
    assert [hazard.id for hazard in shared.unused_gradients(whole)] == expected


@pytest.mark.parametrize(
    "depends, expected", [(False, []), (True, ["1 variable (b) gets the gradients of tower 0 only"])]
)
def test_a_loss_that_does_not_depend_on_a_variable_has_no_gradient_of_it_to_drop(depends, expected):
    """The second tower's loss is of the derivative by its data, in which the bias `b` is not; or of the sum besides."""

    def build():
        w, b = (v1.get_variable(name, [3, 1], use_resource=False) for name in "wb")
        losses = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                x = v1.placeholder(tf.float32, [3, 1], "x")
                y = tf.square(x) * w + b
                slope = tf.reduce_sum(tf.square(tf.gradients(y, x)[0])) if tower else 0.0
                losses.append(slope + tf.reduce_sum(tf.square(y)) if depends or not tower else slope)
        by_w = [v1.gradients(loss, w, colocate_gradients_with_ops=True)[0] for loss in losses]
        by_b = v1.gradients(losses[0], b, colocate_gradients_with_ops=True)[0]
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.apply_gradients([(by_w[0] + by_w[1], w), (by_b, b)], name="train")

    graph = saved(traced(build), trainable_variables=["w", "b"])
    found = shared.unused_gradients(WholeGraph(graph, analyse_graph(graph, "small", ["train"])))
    assert [one.description for one in found] == expected
