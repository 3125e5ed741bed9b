"""Write, read, find and export run files."""
