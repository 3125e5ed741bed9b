"""CXL-Bench: its workload files as plans, and its results as runs."""
