"""Checkpoints of large models: each rank writes its files, and reads them back."""
