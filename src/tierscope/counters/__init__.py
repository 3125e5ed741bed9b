"""The kernel's and drivers' counters of what the machine does, and their rates."""
