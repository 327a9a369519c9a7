"""Repeated lines of a program: functions, loops and networks of them.

`outlining` finds lines that are repeated, and `abstraction` makes a function of them, whose `parameters` are what
differs, `common_texts` what does not. `runs` makes loops of its calls, `defaults` gives its parameters values, `words`
names it. `networks` and `networks_beside` find whole networks that several places use, which `network_functions` makes
functions of.
"""
