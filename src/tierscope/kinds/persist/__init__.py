"""What it costs that stores persist."""
