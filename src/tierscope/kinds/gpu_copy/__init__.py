"""Copies among host memory and GPUs."""
