"""Lists of measurements made of kinds."""
