"""Latency of a GPU's dependent loads."""
