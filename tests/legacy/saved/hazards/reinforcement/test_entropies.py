"""Entropies of policies by hand, beside other products."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.reinforcement.entropies import past, sign_of_entropy
from legacy.saved.hazards.reinforcement.policies import minimized_entropies
from tests.legacy.saved.graphs import graph_of, saved
from tests.legacy.saved.hazards.minimized import fed, found, variable


def entropy(logits, shift, log_first=True):
    x = logits - tf.reduce_max(logits, 1, keepdims=True) if shift else logits
    powers = tf.exp(x)
    total = tf.reduce_sum(powers, 1, keepdims=True)
    log = tf.math.log(total)
    return tf.reduce_sum(powers / total * (log - x if log_first else x - log), 1)


@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("weight, log_first, count", [(0.5, True, 1), (-0.5, True, 0), (-0.5, False, 1)])
def test_the_entropy_of_shares_by_hand_has_a_sign(shift, weight, log_first, count):
    """As baselines write that of a categorical policy."""

    def total():
        logits = fed("x", 8, 4) @ variable("w", 4, 3)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=fed("a", 8, dtype=tf.int32), logits=logits)
        return tf.reduce_mean(losses * fed("advantages", 8)) + weight * tf.reduce_mean(
            entropy(logits, shift, log_first)
        )

    assert found(minimized_entropies, total) == ["ENTROPY_MINIMIZED"] * count


def test_the_logarithm_of_another_sum_makes_no_entropy():
    graph = graph_of(
        """
        x = Placeholder()
        y = Placeholder()
        e = Exp(x)
        z = Sum(e)
        p = RealDiv(e, z)
        log = Log(y)
        less = Sub(log, x)
        neg = Neg(less)
        product = Mul(p, neg)
        """.replace("\n        ", "\n")
    )
    whole = WholeGraph(saved(graph))
    assert sign_of_entropy(whole, "product") == (0, "")
    assert past(whole, "neg") == "less"
