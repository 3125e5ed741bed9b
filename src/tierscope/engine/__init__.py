"""Find ``tierscope-engine``, start it, and have it repeat measurements."""
