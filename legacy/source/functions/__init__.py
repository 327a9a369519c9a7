"""Functions of the program as text: named values line by line, with loops in place of unrolled steps.

`unrolled` finds such steps, whose first one may differ (`first_steps`) and whose last one may lack statements
(`last_steps`), by `step_bodies` and the texts that count them (`step_series`); `unrolled_results` gives all of them the
same lines. `step_loops` writes the loops, `loop_headers` their first lines, `loop_names` names
their results, and `function_lines` lays a function out.
"""
