"""Core-to-core latency: lines that another core's caches hold."""
