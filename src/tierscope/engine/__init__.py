"""Find ``tierscope-engine``, start it, and stream its events."""
