"""Named lists of measurements made of kinds: profiles, the matrix, tours, peers' lists."""
