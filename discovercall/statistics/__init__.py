"""Intervals, comparisons, pass^k and regression over per-task results: numbers in, numbers out."""
