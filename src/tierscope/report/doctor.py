"""The doctor's report."""
