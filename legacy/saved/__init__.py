"""Analyses the graph that an old program saved, and makes the plan of its lift, without running the program.

Here: `graph` reads and cuts it, `derivatives` knows ops with another derivative than today's, `runs` finds what the
program ran of it, `inputs` describes its data, `tower_search` finds its towers, `analysis` recognises the training
step, `data_trial` finds data that it runs with, `facts` and `hazards` say what it does and what is wrong with it,
`report` shows them. Not here: running a saved graph (`legacy.rerun`, `modern.lifted`).
Start with `lifting.py`, then `analysis/analyse.py`."""
