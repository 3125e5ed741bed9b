"""gds_stats: what processes did through cuFile, by the installed tool or from our own runs."""
