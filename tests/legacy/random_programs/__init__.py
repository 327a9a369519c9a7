"""Tower programs whose traits are drawn at random, each with the page that its traits demand."""
