"""Sources of programs whose update no workload describes: the losses are written, the rest is the old graph's."""

import pytest
import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.source.basics.unwritten import Unwritten
from legacy.source.source import OldProgram, SourceOptions, source_with_import
from legacy.source.step.imported_step import keep_proven, recover_losses
from legacy.source.styles.imported_style import losses_lines
from modern.options import ModernOptions
from parity.comparison import stages
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from tests import old_programs
from tests.legacy.source import old_towers
from tests.legacy.variants.programs import lifted, towers
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


def imported(name, folder="lifted"):
    """The source of a program whose update is left to the lift."""
    lift = load_lift(old_programs.lifted(name))
    program = OldProgram(lift.plan, lift.graph, lift.graph, lift.values())
    return source_with_import(program, SourceOptions(folder=folder), Unwritten("a reason"))


def written(name, tmp_path, change=str):
    """The workload of a program's source, whose text is changed."""
    path = tmp_path / (name + "_port.py")
    path.write_text(change(imported(name, old_programs.lifted(name)).text))
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
    assert PROGRAMS[name] in imported(name).text.splitlines()
    assert "raw_ops" not in imported(name).text
    result = compared(written(name, tmp_path))
    assert result.passed, result.first
    assert result.stages[stages.GRADIENTS].tensors > 0 and result.stages[stages.WEIGHTS].tensors > 0


def test_a_changed_constant_of_a_written_loss_is_found(tmp_path):
    result = compared(written("m_carried_state", tmp_path, lambda text: text.replace("/ 4.0", "/ 4.0000005")), 1)
    assert not result.passed and result.first.stage == stages.LOSS


def test_a_source_that_imports_says_what_and_why():
    made = imported("l_gan")
    assert "imported from lifted: all but the loss of d_train, g_train" in made.notes
    assert "All that follows from loss and gradients is imported from the folder 'lifted', since:" in made.text
    assert "\n  * a reason\n" in made.text
    with pytest.raises(InputError, match="(?s)a reason.*with --out, the losses are written, and the rest is"):
        imported("l_gan", "")


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


def test_a_loss_whose_gradients_the_lift_has_clipped_alone_is_left_to_it(tmp_path):
    """Rows that a tower clips before they are added up: the lift knows their sum, and no tensor before the clipping."""

    def build(clipped):
        xs = tf.split(v1.placeholder(tf.int32, [4], name="x"), 2)
        table = v1.get_variable("table", [5, 3], use_resource=False)

        def gradient(tower):
            rows = tf.gradients(tf.reduce_sum(tf.tanh(tf.nn.embedding_lookup(table, xs[tower]))), [table])[0]
            values = tf.sign(rows.values) * tf.sqrt(tf.abs(rows.values)) if clipped else rows.values
            return tf.convert_to_tensor(tf.IndexedSlices(values, rows.indices, rows.dense_shape))

        mean = tf.add_n(towers(gradient)) / 2.0
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(mean, table)])

    lift = lifted(lambda: build(clipped=False), tmp_path).job.workload
    assert recover_losses(lift.plan, lift.graph, []).losses
    lift = lifted(lambda: build(clipped=True), tmp_path).job.workload
    with pytest.raises(Unwritten, match="gradients: the lift has them behind a clipping alone"):
        recover_losses(lift.plan, lift.graph, [])


def test_several_losses_of_one_train_op_are_left_to_the_lift():
    """A function that returns several cannot take the place of a tower's loss."""
    lift = load_lift(old_programs.lifted("l_gan"))
    first = lift.plan.phases[0]
    first.other_losses = [list(first.losses)]
    step = recover_losses(lift.plan, lift.graph, [])
    assert [loss.function for loss in step.losses] == ["g_train_loss"]
    assert step.reasons == ["d_train: loss: several are minimized; a lift takes one of its towers' place"]
