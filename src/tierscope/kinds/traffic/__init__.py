"""Traffic: streams of mixed reads and writes, several at once."""
