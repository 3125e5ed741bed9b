"""Checkpoints: a program's state, saved so that it outlives the program, and read back."""
