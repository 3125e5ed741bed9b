"""Many hosts at once, over MPI."""
