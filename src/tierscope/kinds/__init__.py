"""The kinds of measurement: a folder each, with its spec, its request and its view."""
