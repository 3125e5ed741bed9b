"""Idle latency of CPUs' dependent loads."""
