"""Lines of the program: from definitions to functions with named values.

`statements` decides what gets a line, and `penalties` how penalties ask for weights; `holes` are the places in which
lines that are alike may differ, and `repeated_terms` writes such terms once. `naming` names values: by `name_hints`,
`layer_names`, and `attention_names` for the values of attention. `line_breaks` breaks long statements into lines.
"""
