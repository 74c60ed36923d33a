"""The contract benchmark: task sets, trials, the runner, scoring."""
