"""Takes the graph that an old program saved apart: towers, inputs, gradients, updates. Runs nothing of it."""
