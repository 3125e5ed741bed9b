"""Copies among GPUs of several MPI ranks."""
