"""Programs, run under placements in turn."""
