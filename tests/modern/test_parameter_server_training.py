"""Training with parameter servers where the cluster is lost; whole runs are in tests/parity/test_workers.py."""

import pytest
from absl import flags

from modern import parameter_server_training
from tests.own_flags import set_flags


@pytest.mark.parametrize(
    "folder, line",
    [
        (None, "error: all workers were lost\n"),
        ("run", "error: all workers were lost; start again to go on from the last checkpoint\n"),
    ],
)
def test_without_workers_the_process_ends_with_one_line(monkeypatch, capfd, folder, line):
    ended = []
    monkeypatch.setattr(parameter_server_training.ending, "end_process", ended.append)
    flags.FLAGS.mark_as_parsed()
    with set_flags(flags.FLAGS, checkpoint_dir=folder):
        parameter_server_training._end_without_workers()
    flags.FLAGS.unparse_flags()
    assert capfd.readouterr().err == line
    assert ended == [1]
