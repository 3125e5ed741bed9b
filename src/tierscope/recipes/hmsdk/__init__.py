"""HMSDK's programs: what they read, compute and write."""
