"""Names of a saved graph's nodes, where a program chose others than TensorFlow does by itself."""
