"""Messages between hosts over MPI: latency and bandwidth."""
