"""Measures the gateway over a labelled corpus, and holds what was measured to thresholds."""
