"""Small files: created, opened, read, listed, removed."""
