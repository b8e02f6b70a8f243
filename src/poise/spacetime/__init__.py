"""Many steps at once: the repair of a clip within a budget, and space-time constraints."""
