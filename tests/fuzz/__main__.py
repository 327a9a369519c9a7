"""`python -m tests.fuzz --examples=2000`: damages inputs of every kind, and lists the commands that end as none should.

Exit status 0: no traceback, no abort, no hang, nothing written elsewhere, memory below 2 GB; 1: one of these. Commands
run in forks of this process, which has imported TensorFlow once; one in `--whole` in an interpreter of its own.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import os
import pathlib
import shutil
import sys
import tempfile

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from workloads.support.machine import environment

environment.prepare(exact=True)
environment.prepare = lambda exact: None  # type: ignore[assignment]  # the commands find TensorFlow prepared

from tests.fuzz.corpus import KINDS  # noqa: E402  TensorFlow must be prepared first
from tests.fuzz.examples import CHOICES, SOUND, Example, Outcome, run_example, write_corpus  # noqa: E402

#: Modules that commands import, without those that define flags.
COMMON = (
    "legacy.factory",
    "legacy.saved.lifting",
    "legacy.saved.report.page",
    "legacy.saved.report.page_text",
    "modern.factory",
    "parity.reports.causes",
    "parity.verdict.recorded_run",
    "parity.verdict.report",
    "workloads.lifted.sources",
)


def main() -> int:
    """Runs the examples; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--whole", type=int, default=50, help="one in so many commands has an interpreter of its own")
    parser.add_argument("--example", help="run only this one: KIND:CHOICE:SEED")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp()  # removed here only: a forked command runs the exit functions, too
    try:
        corpus = pathlib.Path(folder) / "corpus"
        _in_child(lambda: write_corpus(corpus))
        _import_all()
        fuzzing = Fuzzing(corpus, pathlib.Path(folder) / "example", arguments.whole)
        if arguments.example:
            kind, choice, number = arguments.example.rsplit(":", 2)
            fuzzing.run(Example(kind, int(choice), int(number)))
            print(fuzzing.last)
        else:
            fuzzing.run_many(arguments.examples, arguments.seed, arguments.kinds.split(","))
        return fuzzing.report()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Fuzzing:
    """Examples that were run, and how they ended."""

    def __init__(self, corpus: pathlib.Path, place: pathlib.Path, whole: int) -> None:
        self._corpus, self._place, self._whole = corpus, place, whole
        self._seen: set[Example] = set()
        self._statuses: collections.Counter[tuple[str, str]] = collections.Counter()
        self._problems: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
        self._peak, self._slowest = 0, 0.0
        self.last = None

    def run_many(self, count: int, first_seed: int, kinds: list[str]) -> None:
        """Runs each sound input, and `count` examples of some kinds, drawn by hypothesis."""
        for kind_name in kinds:
            for sound_choice in range(CHOICES):
                self.run(Example(kind_name, sound_choice, SOUND))

        @seed(first_seed)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(kinds), st.integers(0, CHOICES - 1), st.integers(0, 2**32 - 1))
        def run(kind: str, choice: int, number: int) -> None:
            self.run(Example(kind, choice, number))

        run()

    def run(self, example: Example) -> None:
        """Runs one example, and enters how it ended."""
        if example in self._seen:
            return
        self._seen.add(example)
        outcome = self._outcome(example, len(self._seen) % self._whole == 0)
        if outcome.contained:
            outcome = self._outcome(example, True)
        self.last = outcome
        self._statuses[example.kind, str(outcome.status)] += 1
        self._peak, self._slowest = max(self._peak, outcome.peak), max(self._slowest, outcome.seconds)
        if outcome.problem:
            told = f"{example.kind}:{example.choice}:{example.seed} ({outcome.damage})"
            self._problems[example.kind, outcome.problem].append(told)
            print(f"{len(self._seen)}: {outcome.problem}\n    {told}", flush=True)

    def _outcome(self, example: Example, whole: bool) -> Outcome:
        """Runs one example in a fork, or in an interpreter of its own."""
        shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir()
        return run_example(example, self._corpus, self._place, whole)

    def report(self) -> int:
        """Prints the figures; returns the exit status."""
        for kind in sorted({kind for kind, _ in self._statuses}):
            ends = {end: count for (of, end), count in sorted(self._statuses.items()) if of == kind}
            print(f"{kind:22}", "  ".join(f"{end}: {count}" for end, count in ends.items()))
        print(f"{len(self._seen)} damaged inputs, {sum(map(len, self._problems.values()))} problems; ", end="")
        print(f"at most {self._peak >> 20} MiB and {self._slowest:.1f} s")
        return 1 if self._problems else 0


def _in_child(work) -> None:  # type: ignore[no-untyped-def]
    """Runs `work` in a child, so that this process has no threads when it forks."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise SystemExit("the sound inputs could not be written")


def _import_all() -> None:
    """Imports what commands import, once for all of them."""
    for name in COMMON:
        importlib.import_module(name)


if __name__ == "__main__":
    raise SystemExit(main())
