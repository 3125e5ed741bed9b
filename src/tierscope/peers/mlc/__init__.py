"""Intel's Memory Latency Checker (MLC): its options as measurements, and its text output."""
