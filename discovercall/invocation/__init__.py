"""The agent runtime and its benchmark: the same scenarios in two agent designs, on one model."""
