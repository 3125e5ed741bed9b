"""gdsio: its command line and job files as measurements of the kind io, and its result line."""
