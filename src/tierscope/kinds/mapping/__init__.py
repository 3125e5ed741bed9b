"""What it costs to map, populate and unmap memory."""
