"""From time, ground and pushes to targets, and the preset that says how strongly."""
