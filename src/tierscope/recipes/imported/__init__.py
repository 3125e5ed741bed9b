"""Published results of other programs, as runs: CXL-Bench's JSON, Mess's curves, MLC's text."""
