"""Mess: families of bandwidth-latency curves, measured, imported and exported."""
