"""Input and output: files and block devices."""
