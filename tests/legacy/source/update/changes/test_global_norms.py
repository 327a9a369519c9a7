"""Global norms of gradients in an update, by the ops that they consist of."""

from legacy.source.basics.expressions import Definition, Infix, Listing, Literal, Name, Value, call
from legacy.source.basics.rendering import expression_text
from legacy.source.update.changes.global_norms import name_global_norms


class Recovery:
    """Definitions by their targets."""

    def __init__(self, **expressions):
        self.by_target = {target: Definition((target,), one) for target, one in expressions.items()}

    def definition(self, tensor):
        return self.by_target.get(tensor)

    def ordered(self, outputs):
        return list(self.by_target.values())

    def redefine(self, tensor, definition):
        self.by_target[tensor] = definition


def norm_of(halves, factor=2.0, root="twice"):
    """The text of a norm of a stack of some tensors, after global norms have their name."""
    recovery = Recovery(
        rows=Name('gradients["a"][0].values'),
        half=call("tf.nn.l2_loss", Name('gradients["b"][0]')),
        stack=call("tf.stack", Listing(tuple(halves))),
        total=call("tf.reduce_sum", Value("stack")),
        twice=Infix("*", Value("total"), Literal(factor)),
        norm=call("tf.sqrt", Value(root)),
    )
    name_global_norms(recovery, [])
    return expression_text(recovery.by_target["norm"].expression)


def test_a_global_norm_takes_gradients_and_rows():
    halves = [call("tf.nn.l2_loss", Value("rows")), Value("half")]
    assert norm_of(halves) == 'tf.linalg.global_norm([gradients["a"][0], gradients["b"][0]])'


def test_what_differs_from_a_global_norm_stays():
    halves = [call("tf.nn.l2_loss", Value("rows")), Value("half")]
    assert norm_of(halves, factor=3.0) == "tf.sqrt(<twice>)"
    assert norm_of([Value("half"), Value("rows")]) == "tf.sqrt(<twice>)"
    assert norm_of(halves, root="rows") == "tf.sqrt(<rows>)"
