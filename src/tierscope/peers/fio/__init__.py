"""fio: its job files and command line as measurements of the kind io, and its output."""
