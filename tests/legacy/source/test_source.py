"""Sources of the recorded old programs: they are written, and compute the old graphs' bits."""

import re

import pytest

from legacy.source import source as source_module
from legacy.source.basics.expressions import Literal, call
from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.statements import Statement
from legacy.source.source import write_source
from legacy.source.step import training_step
from legacy.source.styles import imported_style, model_text
from legacy.source.styles.docstring import raw_ops
from tests import old_programs
from tests.legacy.gallery import source
from tests.legacy.source import old_towers
from workloads.lifted.workload import load_lift
from workloads.support.errors import InputError
from workloads.workload import check_workload

#: Programs that are written, and their length at most.
WRITTEN = {
    "a_split_sgd": 60,
    "b_adam_clip": 60,
    "c_queue_ema": 70,
    "d_batch_norm": 90,
    "e_slim_dropout": 80,
    "f_sum_clip_after": 70,
    "h_dynamic_rnn": 75,
    "j_dataset_resource": 75,
}
#: Programs with a step of their own, and the part that is named.
NAMED = {
    "g_embedding_adagrad": "rows of 'lm/embedding' reach the optimizer",
    "i_odd_combine": "combining: gradients of",
    "l_gan": "train ops: d_train, g_train run in turn",
    "m_carried_state": "state of one tower",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_source_has_the_bits_of_the_old_towers(name, tmp_path):
    path = tmp_path / (name + ".py")
    write_source(str(path), source(name))
    module, lift = old_towers.load(path, "written_" + name), load_lift(old_programs.lifted(name))
    check_workload(module.PORT)
    for tower in range(lift.plan.towers):
        assert old_towers.differing(lift, module, tower) == []
    assert len(source(name).text.splitlines()) <= WRITTEN[name]
    assert "tf.raw_ops" not in source(name).text


def test_a_changed_constant_in_a_source_is_found(tmp_path):
    path = tmp_path / "changed.py"
    text = source("c_queue_ema").text
    assert "* 0.04" in text
    path.write_text(text.replace("* 0.04", "* 0.0400001"))
    module, lift = old_towers.load(path, "changed"), load_lift(old_programs.lifted("c_queue_ema"))
    assert "local/weights" in old_towers.differing(lift, module, 0)


@pytest.mark.parametrize("name", NAMED)
def test_what_no_field_describes_is_named(name):
    made = source(name)
    assert "(StepWorkload):" in made.text
    assert any(re.search(NAMED[name], note) for note in made.notes)


def test_a_source_says_what_was_recognised_and_what_was_a_race():
    text = source("c_queue_ema").text
    assert "2 towers, recognised by" in text and "GradientDescent, mean of the towers' gradients" in text
    assert "reads have no order with the update; here those of global_step come before it" in text
    assert "learning_rate: Any = schedules.ExponentialDecay(0.1, 6, 0.5, staircase=True)" in text


def test_scalars_that_were_fed_are_constants_and_those_that_are_assumed_are_reported():
    assert "KEEP_PROB = 0.75  # fed at every step in the old program" in source("e_slim_dropout").text
    assert source("b_adam_clip").notes[0] == "assumed values of scalars that were fed: learning_rate=0.01"


def test_a_source_for_the_old_number_of_towers_alone_says_so(monkeypatch):
    assert "replicas only" not in source("e_slim_dropout").text
    monkeypatch.setattr(training_step, "divided_by_replicas", lambda loss, plan, phase: loss)
    alone = source.__wrapped__("e_slim_dropout").text
    assert "For 2 replicas only: the loss is divided by 2, gradients are summed." in alone


def test_a_source_is_run_before_it_is_written_and_a_wrong_one_is_not(monkeypatch):
    assert source("a_split_sgd").notes[-1].startswith("loss, gradients and statistics of each tower have the old")
    blocks = model_text.model_blocks

    def wrong(*arguments):
        return [[line.replace("nn.relu", "tanh") for line in block] for block in blocks(*arguments)]

    for module in (model_text, imported_style):
        monkeypatch.setattr(module, "model_blocks", wrong)
    with pytest.raises(InputError, match="on made-up numbers it differs in loss of tower 0"):
        source.__wrapped__("a_split_sgd")


def test_a_graph_of_an_unforeseen_form_is_refused_in_one_line(monkeypatch):
    for stage in ("recover_step", "recover_updates"):
        monkeypatch.setattr(source_module, stage, lambda *arguments: {}["surprise"])
    with pytest.raises(InputError, match="not known here .KeyError: .*surprise"):
        source.__wrapped__("a_split_sgd")


def test_the_reasons_of_a_refusal_are_clauses_of_one_line(monkeypatch):
    def refuse(*arguments):
        raise Unwritten("optimizer: no rule\nlearning rate: none")

    for stage in ("recover_step", "recover_updates"):
        monkeypatch.setattr(source_module, stage, refuse)
    with pytest.raises(InputError) as refused:
        source.__wrapped__("a_split_sgd", "standalone")
    assert " cannot be written: optimizer: no rule; learning rate: none; --style=" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InputError, match="--source: cannot write"):
        write_source(str(tmp_path / "none" / "port.py"), source("a_split_sgd"))


def test_raw_ops_are_counted():
    assert raw_ops([Statement(("x:0",), call("tf.raw_ops.Betainc", call("tf.sqrt", Literal(1))))]) == ["Betainc"]
