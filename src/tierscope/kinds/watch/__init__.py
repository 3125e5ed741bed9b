"""Watching: what counters of the machine, a process or a cgroup say over time."""
