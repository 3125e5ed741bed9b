"""The plain types that cross module borders; this package imports nothing else of tierscope.

``plan`` and ``event`` are the protocol between ``tierscope`` and ``tierscope-engine``; their JSON
Schemas (``schema/*.schema.json``) are generated from them by ``python -m tierscope.kinds.schema``.
"""
