"""Caches of keys and values of language models: pieces gathered into objects and scattered."""
