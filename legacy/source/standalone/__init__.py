"""Style "standalone": one file that imports TensorFlow and numpy only.

`style` puts the file together, `text` has the parts that every such file has.
"""
