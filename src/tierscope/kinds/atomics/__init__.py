"""Atomic updates."""
