"""CXL-Bench's workload files, planned and measured as they are."""
