"""The command line: one file a command, holding argument parsing and nothing else."""
