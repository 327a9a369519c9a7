"""Sources of programs whose update no workload describes: the losses are written, the rest is the old graph's."""

import pytest
import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.saved.lifting import lift_graph
from legacy.source.basics.unwritten import Unwritten
from legacy.source.source import source_of_analysis, write_source
from legacy.source.step.imported_step import keep_proven, recover_losses
from legacy.source.styles.imported_style import losses_lines
from modern.options import ModernOptions
from parity.comparison import stages
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from tests import old_programs
from tests.legacy.gallery import source
from tests.legacy.source import old_towers
from tests.legacy.variants.programs import BATCH, TOWERS, apply, split_batch, sum_of_squares, towers, weights
from tests.marks import slow_after
from workloads.job import Job
from workloads.lifted.sources import LiftedSynthetic
from workloads.lifted.workload import load_lift
from workloads.support.errors import InputError

v1 = tf.compat.v1
STEPS = 3
#: {program: a line of its source}.
PROGRAMS = {
    "m_carried_state": '    scope.update(("state_0/c", "state_1/c")[scope.replica % 2], c)',
    "l_gan": 'PORT = lift_with_losses(LIFTED, {"d_train": d_train_loss, "g_train": g_train_loss})',
    "g_embedding_adagrad": '    x = tf.nn.embedding_lookup(scope.get("lm/embedding", (20, 4)), batch["words"])',
    "i_odd_combine": 'PORT = lift_with_losses(LIFTED, {"GradientDescent": tower_loss})',
    "k_mean_of_losses": 'PORT = lift_with_losses(LIFTED, {"Adam": tower_loss})',
}


def written(name, tmp_path, change=str):
    """The workload of a program's source, whose text is changed."""
    path = tmp_path / (name + "_port.py")
    path.write_text(change(source(name, folder=old_programs.lifted(name)).text))
    return old_towers.load(path, "imported_" + name).PORT


def compared(workload, steps=STEPS):
    job = Job(workload, workload.plan.towers)
    modern = ModernOptions(all_reduce="tower_order", exact=True)
    setup = Setup(job, LiftedSynthetic, LegacyOptions(exact=True), modern)
    with setup.legacy_program() as left, setup.modern_program() as right:
        assert right.describe()["autodiff"] == "tf.gradients of the written losses"
        return verify(left, right, job, steps)


@pytest.mark.parametrize("name", slow_after(2, PROGRAMS))
def test_written_losses_with_the_old_update_have_the_old_graphs_bits(name, tmp_path):
    assert PROGRAMS[name] in source(name, folder=old_programs.lifted(name)).text.splitlines()
    assert "raw_ops" not in source(name, folder=old_programs.lifted(name)).text
    result = compared(written(name, tmp_path))
    assert result.passed, result.first
    assert result.stages[stages.GRADIENTS].tensors > 0 and result.stages[stages.WEIGHTS].tensors > 0


def test_a_changed_constant_of_a_written_loss_is_found(tmp_path):
    result = compared(written("m_carried_state", tmp_path, lambda text: text.replace("/ 4.0", "/ 4.0000005")), 1)
    assert not result.passed and result.first.stage == stages.LOSS


def test_a_source_that_imports_says_what_and_why():
    made = source("l_gan", folder="lifted")
    assert "imported from lifted: all but the loss of d_train, g_train" in made.notes
    assert "All that follows from loss and gradients is imported from the folder 'lifted', since:" in made.text
    assert "\n  * train ops: d_train, g_train run in turn; a workload has one loss and one update\n" in made.text
    with pytest.raises(InputError, match="(?s)train ops: .*with --out, the losses are written, and the rest is"):
        source("l_gan")


def test_functions_of_two_losses_that_differ_have_names_of_their_own():
    lift = load_lift(old_programs.lifted("l_gan"))
    step = recover_losses(lift.plan, lift.graph, [])
    assert [loss.function for loss in step.losses] == ["d_train_loss", "g_train_loss"]
    defined = [line.partition("(")[0] for line in losses_lines(step) if line.startswith("def ")]
    assert len(defined) == len(set(defined))


def test_a_loss_that_is_not_proven_is_left_to_the_lift():
    lift = load_lift(old_programs.lifted("l_gan"))
    step = recover_losses(lift.plan, lift.graph, ["reason"])

    def prove(part):
        if part.losses[0].phase.train_op == "d_train":
            raise Unwritten("it differs")
        return "equal"

    kept = keep_proven(step, prove)
    assert [loss.function for loss in kept.losses] == ["g_train_loss"]
    assert kept.reasons == ["reason", "d_train: it differs"]
    assert keep_proven(kept, prove) == kept


def variant(build, tmp_path):
    """The source of a program that `build` makes in a graph of its own, with its lift in `lifted`, and the workload."""
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        names = [op.name for op in build()]
        path = str(tmp_path / "graph.meta")
        v1.train.export_meta_graph(path)
    made = []
    lift_graph(
        path,
        str(tmp_path / "lifted"),
        train_op=names,
        use=lambda *found: made.append(source_of_analysis(*found, {}, folder="lifted")),
    )
    write_source(str(tmp_path / "port.py"), made[0])
    return made[0].text, old_towers.load(tmp_path / "port.py", "imported_variant").PORT


def gradients_of(loss, variables=None):
    """Each tower's gradient of `loss(tower)`."""
    return towers(lambda tower: tf.gradients(loss(tower), variables or [weights()])[0])


def two_train_ops():
    """A second loss with an optimizer of its own, as of a GAN."""
    xs = split_batch()
    losses = (sum_of_squares, lambda x: tf.reduce_sum(tf.abs(tf.matmul(x, weights()))))
    pairs = towers(lambda tower: [tf.gradients(loss(xs[tower]), [weights()])[0] for loss in losses])
    return [apply(tf.add_n(list(gradients)) / TOWERS) for gradients in zip(*pairs)]


def state_of_each_tower():
    """A vector that each tower adds to what it computes and sets to its mean."""
    xs, changes = split_batch(), []

    def loss(tower):
        with v1.variable_scope(f"own_{tower}", reuse=v1.AUTO_REUSE):
            state = v1.get_variable(
                "mean", [2], initializer=v1.zeros_initializer(), trainable=False, use_resource=False
            )
        hidden = tf.matmul(xs[tower], weights()) + state
        changes.append(v1.assign(state, tf.reduce_mean(hidden, 0)).op)
        return tf.reduce_sum(hidden**2)

    train = apply(tf.add_n(gradients_of(loss)) / TOWERS)
    return [v1.group(train, *changes)]


def rows_of_an_embedding():
    """Rows of all towers that reach the optimizer."""
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        table = v1.get_variable("table", [5, 2], use_resource=False)
    ids = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="ids"), TOWERS)
    rows = gradients_of(lambda tower: tf.reduce_sum(tf.nn.embedding_lookup(table, ids[tower]) ** 2), [table])
    values = tf.concat([one.values for one in rows], 0) / TOWERS
    joined = tf.IndexedSlices(values, tf.concat([one.indices for one in rows], 0))
    return [v1.train.AdagradOptimizer(0.1).apply_gradients([(joined, table)])]


def largest_gradient():
    """A combining of one's own: the largest entry of all towers."""
    xs = split_batch()
    return [apply(tf.reduce_max(tf.stack(gradients_of(lambda tower: sum_of_squares(xs[tower]))), 0))]


def decay_after_combining():
    """A penalty's gradient that is added to the mean of the towers' gradients."""
    xs = split_batch()
    return [apply(tf.add_n(gradients_of(lambda tower: sum_of_squares(xs[tower]))) / TOWERS + 0.01 * weights())]


@pytest.mark.parametrize(
    "build, function",
    [
        (two_train_ops, "_loss(scope, batch):"),
        (state_of_each_tower, 'scope.update(("own_0/mean", "own_1/mean")[scope.replica % 2], tf.reduce_mean('),
        (rows_of_an_embedding, "tf.nn.embedding_lookup(scope.get("),
        (largest_gradient, "def tower_loss(scope, batch):"),
        (decay_after_combining, "def tower_loss(scope, batch):"),
    ],
)
def test_each_kind_of_update_that_no_workload_has_is_imported(build, function, tmp_path):
    text, workload = variant(build, tmp_path)
    assert function in text and "raw_ops" not in text
    assert "old graph's bits on made-up numbers" in text
    assert set(workload.losses) == {phase.train_op for phase in workload.plan.phases}
