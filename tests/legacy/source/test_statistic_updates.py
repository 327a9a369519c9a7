"""Updates of statistics stand where what they need is computed."""

import tensorflow as tf

from legacy.source.basics.expressions import Name, call
from legacy.source.step.statistic_updates import with_updates
from tests.legacy.source.tiny import recovered


def test_an_update_comes_as_early_as_its_value_and_the_loss_last():
    def build(x, w):
        mean = tf.reduce_mean(x)
        return mean, tf.reduce_sum(tf.matmul(x - mean, w))

    recovery, (mean, loss) = recovered(build, {"x": [3]}, {"w": [3, 2]})
    update = call("scope.update", "mean", mean)
    definitions = with_updates(recovery, loss, [[update]])
    place = next(number for number, one in enumerate(definitions) if one.expression == update)
    assert not definitions[place].targets and definitions[-1].expression == loss
    assert mean.tensor in {target for one in definitions[:place] for target in one.targets}
    assert loss.tensor not in {target for one in definitions[:place] for target in one.targets}


def test_a_second_update_of_a_statistic_follows_the_first():
    recovery, (value,) = recovered(lambda x: tf.reduce_mean(x), {"x": [3]})
    first, second = call("scope.update", "a", value), call("scope.update", "a", Name("0.0"))
    lines = [one.expression for one in with_updates(recovery, value, [[first], [second]])]
    assert lines.index(first) < lines.index(second)
