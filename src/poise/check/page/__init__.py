"""The page of a check: one self-contained HTML file with pictures."""
