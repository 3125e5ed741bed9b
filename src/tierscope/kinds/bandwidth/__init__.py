"""Bandwidth of CPUs to memory."""
