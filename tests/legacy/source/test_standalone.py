"""Standalone programs: one file that trains from the old checkpoint with the bits of the lift."""

import ast
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from legacy.source.source import SourceOptions, source_of_analysis, write_source
from legacy.source.standalone import text as standalone_text
from legacy.source.standalone.optimizer_text import schedule_text
from legacy.source.standalone.scope import scope_of
from tests import old_programs
from tests.legacy.gallery import SOURCES, source, source_path
from tests.legacy.source import old_towers
from tests.legacy.source.trained import batches_of, port_after, train, trainer_of
from tests.legacy.variants.programs import mean_of, sum_of_squares, towers, weights
from tests.marks import slow_after
from workloads.lifted.sources import LiftedSynthetic

v1 = tf.compat.v1
STEPS = 4
NAMES = ["c_queue_ema", "e_slim_dropout", "a_split_sgd", "b_adam_clip", "d_batch_norm", "f_sum_clip_after"]
NAMES += ["j_dataset_resource", "h_dynamic_rnn"]
#: Programs whose update no named optimizer describes, and a line of theirs.
UPDATES = {
    "i_odd_combine": "        x = tf.tensordot(softmax, x, 1)",
    "g_embedding_adagrad": '    indices, positions = tf.unique(gradients["lm/embedding"].indices)',
    "k_mean_of_losses": "        combined[name] = tf.add_n(gradients[name])",
    "l_gan": "TRAIN_OPS = [d_train, g_train]",
    "m_carried_state": "    for name, value in scope.updates.items():  # each replica has a state of its own",
}
SETTINGS = {"keep_prob": 0.75, "learning_rate": 0.01}


def module_of(name, tmp_path):
    path = tmp_path / (name + "_alone.py")
    write_source(str(path), source(name, "standalone"))
    return old_towers.load(path, "alone_" + name)


@pytest.mark.parametrize("name", [*slow_after(1, NAMES), *slow_after(1, UPDATES)])
def test_a_standalone_program_trains_with_the_bits_of_the_lift(name, tmp_path):
    module = module_of(name, tmp_path)
    setup = old_programs.setup(name, make_source=lambda job: LiftedSynthetic(job, SETTINGS))
    batches = batches_of(setup, STEPS, SETTINGS)
    expected = port_after(setup, batches)
    trainer = trainer_of(module, setup.job, old_programs.path(name, "model.ckpt"))
    trained = train(module, trainer, setup.job, batches)
    assert [variable for variable, array in expected.items() if not np.array_equal(trained[variable], array)] == []
    trainer.save(str(tmp_path / "saved"))
    assert set(expected) <= set(dict(tf.train.list_variables(str(tmp_path / "saved"))))


def test_states_that_the_old_saver_left_out_start_anew(tmp_path):
    module = module_of("m_carried_state", tmp_path)
    setup = old_programs.setup("m_carried_state")
    variables = trainer_of(module, setup.job).variables

    def checkpoint(without):
        path = str(tmp_path / "partial")
        saved = {name: variable + 1 for name, variable in variables.items() if name not in without}
        v1.train.Saver({name: tf.Variable(value) for name, value in saved.items()}).save(
            None, path, write_meta_graph=False
        )
        return path

    restored = trainer_of(module, setup.job, checkpoint(without=module.OWNERS)).variables
    for name, variable in variables.items():
        expected = variable if name in module.OWNERS else variable + 1
        assert np.array_equal(restored[name].numpy(), expected.numpy()), name
    weight = module.WEIGHTS[0]
    with pytest.raises(tf.errors.NotFoundError, match=weight):
        trainer_of(module, setup.job, checkpoint(without=[weight]))


def test_the_command_trains_on_numbers_of_any_type(tmp_path):
    """In a process of its own, since the program divides the CPU among its replicas."""
    path = tmp_path / "alone.py"
    write_source(str(path), source("h_dynamic_rnn", "standalone"))
    inputs = module_of("h_dynamic_rnn", tmp_path).INPUTS
    np.savez(tmp_path / "data.npz", **{name: np.ones((64, *shape), np.int64) for name, (shape, _) in inputs.items()})
    command = [sys.executable, str(path), "--data=data.npz", "--steps=2"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert "step 1: loss " in ran.stdout, ran.stderr[-2000:]
    assert (tmp_path / "trained.index").exists()


def test_a_program_that_trains_on_constants_takes_no_data(tmp_path):
    with tf.Graph().as_default():
        examples = tf.constant([[0.5, -1.0, 2.0]])
        mean = mean_of(towers(lambda _: tf.gradients(sum_of_squares(examples), [weights()])[0]))
        v1.train.export_meta_graph(str(tmp_path / "graph.meta"))
    made = []
    use = lambda *found: made.append(source_of_analysis(*found, SourceOptions({}, "standalone")))  # noqa: E731
    lift_graph(str(tmp_path / "graph.meta"), None, options=LiftOptions([mean.name]), use=use)
    write_source(str(tmp_path / "train.py"), made[0])
    command = [sys.executable, "train.py", "--steps=2"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert "step 1: loss " in ran.stdout, ran.stderr[-2000:]


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_that_no_named_optimizer_describes_is_written(name):
    text = source(name, "standalone").text
    assert UPDATES[name] in text.splitlines()
    of_any_number = ("l_gan", "g_embedding_adagrad")  # the others use the results, or states, of each tower
    assert ("--replicas" in text) == (name in of_any_number)
    kernels = text.count("tf.raw_ops.Resource")
    assert text.count("tf.raw_ops.") == kernels > 0


@pytest.mark.parametrize("name", [*NAMES, *UPDATES])
def test_a_standalone_program_needs_tensorflow_and_numpy_only(name):
    tree = ast.parse(source(name, "standalone").text)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported - {"itertools"} == {"argparse", "numpy", "tensorflow"}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
    assert max(map(len, source(name, "standalone").text.partition('"""\n\nimport')[2].splitlines())) <= 120


@pytest.mark.parametrize("name", SOURCES)
def test_the_gallery_is_current(name):
    with open(source_path(name), encoding="utf-8") as file:
        assert file.read() == source(*SOURCES[name]).text, "python -m tests.legacy.write_gallery writes it anew"


def test_schedules_are_written_in_tensorflows_own_words():
    text = schedule_text("schedules.PiecewiseConstant((6, 12), (0.1, 0.05, 0.01))")
    expected = "[tf.constant(6, tf.int64), tf.constant(12, tf.int64)], [0.1, 0.05, 0.01])"
    assert text == "tf.compat.v1.train.piecewise_constant(step, " + expected


def test_the_text_that_all_programs_share_is_python():
    main = ast.parse(standalone_text.MAIN)
    assert "main" in {node.name for node in main.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    "functions, update, attributes",
    [
        ("scope.get('w', (), ZEROS)", "", "self.values = values"),
        ("scope.get('w', (), ZEROS)", "results[scope.replica]", "self.values, self.replica = values, replica"),
        ("scope.normal('noise', [2])", "", "self.values, self.step, self.replica = values, step, replica"),
    ],
)
def test_a_scope_has_the_attributes_that_its_program_uses(functions, update, attributes):
    scope = scope_of([], functions, update)
    ast.parse(scope.text)
    assert f"        {attributes}\n" in scope.text
    assert ("step" in scope.of_values("step")) == ("self.step" in attributes)


def test_constants_of_the_optimizer_are_as_short_as_their_float32():
    assert 'ACCUMULATORS = {"beta1_power": 0.9, "beta2_power": 0.999}' in source("b_adam_clip", "standalone").text


def test_a_standalone_program_is_as_short_as_a_person_would_write_it():
    assert len(source("c_queue_ema", "standalone").text.splitlines()) <= 120


def test_the_pass_that_makes_the_variables_runs_nothing():
    text = source("h_dynamic_rnn", "standalone").text  # no made-up example would suit each loss
    assert ".get_concrete_function(Scope(self.variables), spec)" in text and "tf.ones(" not in text
