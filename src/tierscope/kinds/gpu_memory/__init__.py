"""Bandwidth of a GPU's own memory."""
