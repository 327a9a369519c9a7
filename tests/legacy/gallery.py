"""Pages and sources of `docs/gallery`: what `legacy.inspect` says of each recorded program, and what `--source` writes.

`python -m tests.legacy.write_gallery` writes them anew.
"""

from __future__ import annotations

import functools
import os

from legacy.saved.graph import graph_file
from legacy.saved.report.page import inspect_graph
from legacy.saved.report.page_text import page_lines
from legacy.source.source import OldProgram, Source, SourceOptions, source_text
from tests import old_programs
from tests.house import ROOT
from workloads.lifted.graph import Graph
from workloads.lifted.workload import load_lift
from workloads.support.files.json_file import write_text

FOLDER = os.path.join(ROOT, "docs", "gallery")
#: {file: (recorded program, style, folder of the lift)} of the sources; without a folder nothing is imported.
SOURCES = {
    "split_batch.py": ("a_split_sgd", "workload", ""),
    "clipping_in_each_tower.py": ("b_adam_clip", "workload", ""),
    "cifar_trainer.py": ("c_queue_ema", "workload", ""),
    "cifar_trainer_standalone.py": ("c_queue_ema", "standalone", ""),
    "batch_norm_of_one_tower.py": ("d_batch_norm", "workload", ""),
    "dropout.py": ("e_slim_dropout", "workload", ""),
    "summed_gradients.py": ("f_sum_clip_after", "workload", ""),
    "embedding_rows.py": ("g_embedding_adagrad", "workload", ""),
    "dynamic_rnn.py": ("h_dynamic_rnn", "workload", ""),
    "odd_combining.py": ("i_odd_combine", "workload", ""),
    "odd_combining_standalone.py": ("i_odd_combine", "standalone", ""),
    "batch_norm_of_all_towers.py": ("j_dataset_resource", "workload", ""),
    "batch_norm_of_all_towers_standalone.py": ("j_dataset_resource", "standalone", ""),
    "mean_of_losses.py": ("k_mean_of_losses", "workload", ""),
    "generative_adversarial.py": ("l_gan", "workload", ""),
    "generative_adversarial_standalone.py": ("l_gan", "standalone", ""),
    "recurrent_state.py": ("m_carried_state", "workload", ""),
    "recurrent_state_standalone.py": ("m_carried_state", "standalone", ""),
}
#: Rows of a section, as a reader would ask for.
ROWS = 12


def page_path(name: str) -> str:
    """Returns the file of a program's page."""
    return os.path.join(FOLDER, f"{name}.page.txt")


def page_text(name: str) -> str:
    """Returns the page of a recorded program, as `legacy.inspect --rows=12` prints it in the repository's root."""
    graph = os.path.relpath(old_programs.path(name, "graph.meta"), ROOT)
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        sections = inspect_graph(graph, old_programs.TRAIN_OPS.get(name, []))
    finally:
        os.chdir(before)
    return "\n".join(page_lines(sections, ROWS)).lstrip("\n") + "\n"


@functools.lru_cache(maxsize=None)
def source(name: str, style: str = "workload", folder: str = "") -> Source:
    """Returns the source of a recorded program; what cannot be written is imported from the lift in `folder`."""
    lift = load_lift(old_programs.lifted(name))
    whole = Graph(graph_file.read_graph_file(old_programs.path(name, "graph.meta")).graph_def)
    program = OldProgram(lift.plan, lift.graph, whole, lift.values())
    return source_text(program, SourceOptions({"keep_prob": "0.75"}, style, folder))


def source_path(file: str) -> str:
    """Returns the path of a source in the gallery."""
    return os.path.join(FOLDER, file)


def write_all() -> None:
    """Writes every page and source, each in one piece."""
    os.makedirs(FOLDER, exist_ok=True)
    for name in old_programs.NAMES:
        write_text(page_path(name), page_text(name), "docs/gallery")
    for name, made_from in SOURCES.items():
        write_text(source_path(name), source(*made_from).text, "docs/gallery")
