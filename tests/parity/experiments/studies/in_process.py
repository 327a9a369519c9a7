"""Alternatives of a study in this process, so that a test need not start one for each."""

import contextlib

import pytest

from parity.experiments.studies.alternatives import turns


class InProcess(contextlib.ExitStack):
    """Stands for `SideProcess`; `opened` lists the names of all alternatives that were opened."""

    opened: list = []

    def __init__(self, name, variables=None):
        super().__init__()
        self.name = name

    def start_opening(self, alternative, warm_up):
        self.close()
        self.opened.append(alternative.name)
        self.program = self.enter_context(alternative.make_program())
        if warm_up:
            self.program.run(warm_up)

    def finish_opening(self):
        pass

    def run(self, steps):
        self.program.run(steps)

    def rest(self):
        pass

    def observe(self, function, *arguments):
        return function(self.program, *arguments)


@pytest.fixture
def in_process(monkeypatch):
    """Makes `Turns` open alternatives in this process."""
    monkeypatch.setattr(turns, "SideProcess", InProcess)
    monkeypatch.setattr(InProcess, "opened", [])
    return InProcess
