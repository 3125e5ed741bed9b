"""CXL-Bench's workload files, measured by tierscope's kinds."""
