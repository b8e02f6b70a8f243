"""Verdicts: what a clip's measures say against a profile's thresholds, what would cure it, and how to show it."""
