"""Training: samples of a dataset, read for accelerators that are emulated."""
