"""Chains of dependent reads and writes."""
