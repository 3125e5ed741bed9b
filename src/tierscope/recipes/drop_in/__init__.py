"""What the drop-ins for other storage benchmarks have in common."""
