"""nvbandwidth: its test cases as measurements, its command line and its output."""
