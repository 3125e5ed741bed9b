"""Blocks that two processes, or two hosts, hand over to each other in memory that both map."""
