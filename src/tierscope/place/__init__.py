"""Read and change where data is, through the kernel's interfaces only."""
