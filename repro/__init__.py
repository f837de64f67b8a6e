"""The reproduction of the paper: methods × datasets under a protocol, tables and figures.

Run from the root of the repository with ``python -m repro``. It may use the package; the package does not
know it.
"""
