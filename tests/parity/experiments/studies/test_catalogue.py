"""The studies by name."""

import importlib

from parity.experiments.studies.catalogue import STUDIES


def test_every_study_has_a_question_and_a_module_that_runs_it():
    for name, study in STUDIES.items():
        assert study.name == name and study.question.endswith("?") and len(study.question) <= 120
        assert callable(importlib.import_module(study.module).run_study)


def test_a_study_is_run_by_its_module(monkeypatch):
    study = STUDIES["overlap"]
    monkeypatch.setattr(importlib.import_module(study.module), "run_study", lambda quick, progress: (quick, progress))
    assert study.run(True, print) == (True, print)
