"""HTML pages of results: one file each, without script, fonts or network. Needs the standard library only.

Here: the page, its elements, and `--report`. Not here: pictures (`parity.html`), which need matplotlib.
"""
