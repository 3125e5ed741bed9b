"""What measurements say together: knees, plateaus, comparisons."""
