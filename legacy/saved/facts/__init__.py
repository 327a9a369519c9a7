"""Facts of a saved program, as rows of tables: read from its analysed training step, or from its graph alone.

Here: `program_facts` makes all sections of an analysed step, `whole_facts` those of a graph that cannot be analysed.
Not here: known bugs (`legacy.saved.hazards`), the page that shows both (`legacy.saved.report`).
Start with `program_facts.py`."""
