"""What a lift takes for placeholders that have a default is on the page, since a program may have fed another value."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.defaults import default_sentences, unused_sentences
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.hazards.search import find_hazards
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
OFF = "is_training is false unless fed, and taken as true, since the step trains; --feed=is_training=false is a program"


def page(build, **options):
    """The WATCH lines of a small program's page that name defaults; the program has no hazard."""
    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train"], **options)
    assert find_hazards(graph, found) == []
    return [row["what"] for row in program_facts(graph, found)["watch"] if "unless fed" in row["what"]]


def trained(loss):
    v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")


def keeping(share):
    """A program whose dropout keeps a share of its layer; the share is a tensor, a number or None for no dropout."""

    def build():
        w = v1.get_variable("w", initializer=[[1.0, 2.0], [2.0, 1.0]], use_resource=False)
        layer = tf.matmul(v1.placeholder(tf.float32, [4, 2], "x"), w)
        kept = share() if callable(share) else share
        trained(tf.reduce_mean(tf.square(layer if kept is None else v1.nn.dropout(layer, keep_prob=kept))))

    return build


@pytest.mark.parametrize(
    "share, expected",
    [
        (
            lambda: v1.placeholder_with_default(1.0, [], "keep"),
            ["keep is 1 unless fed, which a lift takes; --feed=keep=NUMBER gives another"],
        ),
        (lambda: v1.placeholder(tf.float32, [], "keep"), []),  # fed at every step
        (0.5, []),
        (None, []),
    ],
    ids=["default", "fed", "constant", "none"],
)
def test_a_number_that_is_constant_unless_fed_is_named_and_is_no_hazard(share, expected):
    assert page(keeping(share)) == expected


def test_a_number_that_is_given_is_none_by_default():
    assert page(keeping(lambda: v1.placeholder_with_default(1.0, [], "keep")), feed={"keep": "0.5"}) == []


def switched(default, names=("is_training",), is_used=True):
    """A program whose loss depends on data where a switch is true."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        x = v1.placeholder(tf.float32, [2], "x")
        make = v1.placeholder if default is None else v1.placeholder_with_default
        switches = [make(tf.bool if default is None else default, [], name) for name in names]
        data, none = lambda: tf.reduce_sum(tf.square(w) * x), lambda: tf.reduce_sum(tf.square(w))
        losses = [v1.cond(switch, data, none) for switch in switches] if is_used else [data()]
        trained(tf.add_n(losses))

    return build


@pytest.mark.parametrize("default, expected", [(False, True), (True, False), (None, False)])
def test_a_switch_whose_default_is_false_is_named(default, expected):
    found = page(switched(default))
    assert len(found) == expected and all(text.startswith(OFF) for text in found)


def test_a_switch_whose_value_is_given_is_not_assumed():
    assert page(switched(False), feed={"is_training": "true"}) == []


def test_a_boolean_that_is_no_name_of_training_has_the_other_value_and_no_number():
    (found,) = page(switched(True, names=("use_data",)))
    assert found == "use_data is true unless fed, which a lift takes; --feed=use_data=false gives another"


def test_a_switch_that_the_step_does_not_use_is_not():
    assert page(switched(False, is_used=False)) == []


def test_the_switches_of_all_towers_are_named_together():
    (found,) = page(switched(False, names=("is_training_0", "is_training_1")))
    assert found.startswith("is_training_0, is_training_1 are false unless fed, and taken as true")
    assert found.endswith("--feed=is_training_0=false,is_training_1=false is a program that never feeds them")


def test_several_numbers_have_one_sentence():
    graph = traced(lambda: v1.placeholder(tf.float32, [], "x"))
    (found,) = default_sentences(graph, ["x"], {}, {"keep": "1", "rate": "0.1"})
    assert (
        found == "keep is 1, rate is 0.1 unless fed, which a lift takes; --feed=keep=NUMBER,rate=NUMBER gives another"
    )


def test_placeholders_that_no_op_uses_are_named():
    def build():
        w = v1.get_variable("w", initializer=1.0, use_resource=False)
        v1.placeholder(tf.float32, [], "rate_of_old")
        v1.placeholder(tf.float32, [1], "discount")
        v1.placeholder(tf.bool, [4, 16], "masks")
        v1.sparse_placeholder(tf.int32, name="labels")
        v1.summary.scalar("shown", v1.placeholder(tf.float32, [], "shown_alone"))
        ids = v1.sparse_placeholder(tf.float32, name="ids")  # its shape is not used, as by a lookup of rows
        trained(
            v1.placeholder(tf.float32, [], "share")
            * w
            * tf.reduce_sum(ids.values)
            * tf.cast(tf.size(ids.indices), tf.float32)
        )

    expected = ["no op uses rate_of_old, discount, masks, labels: what is fed there changes nothing"]
    assert list(unused_sentences(saved(traced(build), trainable_variables=["w"]).graph)) == expected
