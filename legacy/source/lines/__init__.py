"""Lines of the program: from definitions to functions with named values.

`statements` decides what gets a line, `outlining` finds what is repeated, `abstraction` makes functions of it by the
`holes` in which repetitions differ, which become its `parameters`; `words` and `naming` name functions and values,
`functions` lays a function out.
"""
