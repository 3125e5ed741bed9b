"""Latency under load."""
