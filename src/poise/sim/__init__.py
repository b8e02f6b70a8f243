"""The machine that steps: filter, stream, clip run, pushes, goals, report."""
