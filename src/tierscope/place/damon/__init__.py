"""DAMON, the kernel's monitor of memory accesses, as what moves pages between nodes.

Source: Linux, Documentation/admin-guide/mm/damon/usage.rst and Documentation/mm/damon/design.rst.
"""
