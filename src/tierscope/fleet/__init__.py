"""Many hosts: their runs gathered, compared and judged."""
