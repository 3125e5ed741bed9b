"""Many hosts over MPI: measured in step, gathered, compared and judged."""
