"""The page of a random program, compared with the one that its traits demand."""

from __future__ import annotations

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.rows import Sections
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.hazards.search import find_hazards
from tests.legacy.random_programs.expected import mistakes
from tests.legacy.random_programs.programs import graph_of_traits
from tests.legacy.random_programs.traits import Traits
from workloads.support.errors import InputError


def sections_of_traits(traits: Traits) -> Sections:
    """Returns the sections of a program's page, with its hazards."""
    graph = graph_of_traits(traits)
    found = analyse_graph(graph, "random", ["train"])
    return {**program_facts(graph, found), "hazards": find_hazards(graph, found)}


def wrong_lines(traits: Traits) -> list[str]:
    """Returns the lines of a program's page that are wrong, or why it has none."""
    try:
        return list(mistakes(traits, sections_of_traits(traits)))
    except InputError as error:
        return [f"refused: {error}"]
