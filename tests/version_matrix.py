"""`python -m tests.version_matrix` (`make matrix`): tries versions of Python and TensorFlow, pair by pair.

Each pair has an environment of its own, made by pip from the project's own files. There the five workloads are verified
bit by bit, and an old graph is lifted and verified. Writes docs/versions.md after each pair; what the page shows of
pairs that are not tried now stays. Exit status 0: every pair that can be installed runs; 1: not.
"""

from __future__ import annotations

import argparse
import dataclasses
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests" / "legacy" / "recordings" / "a_split_sgd"

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
TENSORFLOWS = ("2.16", "2.17", "2.18", "2.19", "2.20", "2.21")
WORKLOADS = ("sigmoid_stack", "regression", "cifar_cnn", "resnet18", "stacked_lstm")

#: The page's first lines.
INTRODUCTION = """\
Written by `make matrix`. Each pair has an environment of its own, made by pip from the project's own files. There the
five workloads are verified bit by bit (2 replicas, 5 steps), and an old graph is lifted and verified.
"""

#: Its last lines.
OTHERS = """\
Earlier versions of TensorFlow 2 are refused by one line. `workloads/` and `legacy/` also run under TensorFlow 1.15 on
Python 3.7 (`--legacy_python`), and `legacy/recorder.py` alone under any from 0.12 on.
"""

RUNS, NO_PYTHON, NO_WHEEL, NOT_TRIED = "runs", "no such Python here", "no TensorFlow for it", "not tried"
FAILS = "fails"

#: A note of the page on a pair that fails: (label of the pair, what failed).
NOTE = re.compile(r"^\* (TensorFlow \S+, Python \S+): (.*)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Pair:
    """One environment.

    Attributes:
      python: version, such as "3.11".
      tensorflow: version, such as "2.16".
    """

    python: str
    tensorflow: str

    @property
    def folder(self) -> str:
        """Name of its environment's folder."""
        return f"python{self.python}-tensorflow{self.tensorflow}"

    @property
    def label(self) -> str:
        """Its name in the page's notes."""
        return f"TensorFlow {self.tensorflow}, Python {self.python}"


def find_python(version: str) -> str | None:
    """Returns the path of an interpreter, from pyenv or from PATH; None without one.

    pyenv puts commands on PATH for all of its versions, of which only the chosen ones run: its folders come first.
    """
    found = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")))
    return found[0] if found else shutil.which(f"python{version}")


def make_environment(pair: Pair, folder: pathlib.Path) -> str:
    """Makes a pair's environment, unless it is there.

    Returns:
      "", or the reason why there is none.
    """
    done = folder / "installed"
    if done.exists():
        return ""
    interpreter = find_python(pair.python)
    if interpreter is None:
        return NO_PYTHON
    subprocess.run([interpreter, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    ended = subprocess.run(
        [*pip, "--editable", str(ROOT), f"tensorflow=={pair.tensorflow}.*"], capture_output=True, text=True
    )
    if ended.returncode:
        missing = "No matching distribution" in ended.stderr
        return NO_WHEEL if missing else "pip: " + last_line(ended.stderr)
    done.touch()
    return ""


def commands(lift: pathlib.Path) -> Iterator[tuple[str, list[str]]]:
    """Yields (name, arguments of Python) of what is run in each environment; the lift is written to `lift`."""
    exact = ["--steps=5", "--tolerance=exact"]
    for name in WORKLOADS:
        yield name, ["-m", "parity.verify", f"--workload={name}", "--replicas=2", *exact]
    graph, checkpoint = RECORDED / "graph.meta", RECORDED / "model.ckpt"
    yield "lift", ["-m", "legacy.lift", str(graph), f"--checkpoint={checkpoint}", f"--out={lift}"]
    yield "a lifted graph", ["-m", "parity.verify", f"--workload={lift}", *exact]


def try_pair(pair: Pair, folder: pathlib.Path) -> str:
    """Runs every command in a pair's environment; returns `RUNS`, or what failed first and its last line."""
    reason = make_environment(pair, folder)
    if reason:
        return reason
    lift = folder / "lift"
    shutil.rmtree(lift, ignore_errors=True)
    for name, arguments in commands(lift):
        command = [str(folder / "bin" / "python"), *arguments]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if ended.returncode:
            return f"{name}: {last_line(ended.stderr or ended.stdout)}"
    return RUNS


def last_line(text: str) -> str:
    """Returns the last line of a command's output."""
    return text.strip().rpartition("\n")[2]


def read_page(text: str) -> dict[Pair, str]:
    """Returns the results that a page shows, so that a run of some pairs keeps those of the others."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    if not rows:
        return {}
    pythons = [heading.rpartition(" ")[2] for heading in rows[0][1:]]
    failures = dict(NOTE.findall(text))
    return {
        Pair(python, row[0]): failures.get(Pair(python, row[0]).label, result)
        for row in rows[2:]
        for python, result in zip(pythons, row[1:])
        if result != NOT_TRIED
    }


def page(results: Mapping[Pair, str]) -> str:
    """Returns the page: a table with a row for each TensorFlow and a column for each Python, and notes on failures."""
    lines = ["# Versions of Python and TensorFlow", "", INTRODUCTION]
    lines.append("| TensorFlow | " + " | ".join(f"Python {version}" for version in PYTHONS) + " |")
    lines.append("|" + "---|" * (len(PYTHONS) + 1))
    notes: list[str] = []
    for tensorflow in TENSORFLOWS:
        cells = []
        for python in PYTHONS:
            pair = Pair(python, tensorflow)
            result = results.get(pair, NOT_TRIED)
            cells.append(result if result in (RUNS, NO_PYTHON, NO_WHEEL, NOT_TRIED) else FAILS)
            if cells[-1] == FAILS:
                notes.append(f"* {pair.label}: {result}")
        lines.append(f"| {tensorflow} | " + " | ".join(cells) + " |")
    lines += ["", *notes] if notes else []
    lines += ["", OTHERS]
    return "\n".join(lines)


def main() -> int:
    """Tries the pairs; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", default=",".join(PYTHONS), help="versions of Python, separated by commas")
    parser.add_argument("--tensorflows", default=",".join(TENSORFLOWS), help="versions of TensorFlow")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / ".matrix", help="folder of the environments")
    parser.add_argument(
        "--markdown", type=pathlib.Path, default=ROOT / "docs" / "versions.md", help="the page to write"
    )
    parser.add_argument("--keep", action="store_true", help="keep environments after they are tried (2 GB each)")
    arguments = parser.parse_args()
    pairs = [Pair(p, t) for t in arguments.tensorflows.split(",") for p in arguments.pythons.split(",")]
    shown = arguments.markdown.read_text(encoding="utf-8") if arguments.markdown.exists() else ""
    results = read_page(shown)
    for number, pair in enumerate(pairs):
        folder = arguments.folder.resolve() / pair.folder
        print(f"{number + 1}/{len(pairs)} {pair.folder} ...", file=sys.stderr, flush=True)
        results[pair] = try_pair(pair, folder)
        print(f"    {results[pair]}", file=sys.stderr, flush=True)
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
        arguments.markdown.write_text(page(results), encoding="utf-8")
    print(page(results), end="")
    return 0 if {results[pair] for pair in pairs} <= {RUNS, NO_PYTHON, NO_WHEEL} else 1


if __name__ == "__main__":
    sys.exit(main())
