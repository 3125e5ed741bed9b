"""Ranks that an MPI launcher started: rank 0 asks, all others answer."""
