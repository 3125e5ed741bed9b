"""STREAMer: STREAM on persistent and far memory, by sockets and threads."""
