"""This machine: topology, links and their limits, settings, counters."""
