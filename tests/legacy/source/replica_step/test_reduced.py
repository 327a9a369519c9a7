"""Reductions in a written train op: a mean is a division, or a product with one over the replicas."""

from legacy.source.replica_step.reduced import reduced_lines


def test_a_mean_by_division_is_one_reduction():
    assert reduced_lines("g", "mean", False) == ["g = context.all_reduce(tf.distribute.ReduceOp.MEAN, g)"]


def test_a_mean_by_a_product_is_a_sum_and_the_product():
    first, second = reduced_lines("reduced", "mean", True, "[g[name] for name in dense]")
    assert first == "reduced = context.all_reduce(tf.distribute.ReduceOp.SUM, [g[name] for name in dense])"
    assert second == "reduced = [gradient * (1.0 / context.num_replicas_in_sync) for gradient in reduced]"


def test_a_sum_is_never_multiplied():
    assert len(reduced_lines("g", "sum", True)) == 1
