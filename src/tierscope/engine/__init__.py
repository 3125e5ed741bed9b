"""Find ``tierscope-engine``, start it, and have it visit measurements."""
