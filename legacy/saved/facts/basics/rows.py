"""Types of facts: rows of tables, in sections."""

from __future__ import annotations

from typing import Any, Dict, List

#: Title of the section with the reason why a graph cannot be analysed; only such graphs have it.
NOT_ANALYSED = "not analysed"

#: Title of the section that says which train ops a page assumes, where the graph has several and none was named.
ASSUMED = "assumed"

#: A row of a table: {column: text or number}.
Row = Dict[str, Any]
#: {section: its rows}, in the order of the page.
Sections = Dict[str, List[Row]]
