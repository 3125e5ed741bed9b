"""Find ``tierscope-engine``, start it, and visit measurements."""
