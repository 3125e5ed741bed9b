"""Analysis of measurements: estimates, knees, plateaus, comparisons."""
