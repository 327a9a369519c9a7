"""Alternatives of a study in this process, so that a test need not start one for each."""

import contextlib

import pytest

from parity.experiments.studies.alternatives import turns


class InProcess(contextlib.ExitStack):
    """Stands for `ProgramProcess`; `opened` lists the names of all alternatives that were opened."""

    opened: list = []

    def __init__(self, name, variables=None):
        super().__init__()

    def close_programs(self):
        self.close()

    def start(self, make, alternative, warm_up):
        self.opened.append(alternative.name)
        return ProgramHere(self.enter_context(make(alternative, warm_up)))


class ProgramHere:
    """Stands for `RemoteProgram`."""

    def __init__(self, program):
        self.program = program

    def wait_until_made(self):
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
    monkeypatch.setattr(turns, "ProgramProcess", InProcess)
    monkeypatch.setattr(InProcess, "opened", [])
    return InProcess
