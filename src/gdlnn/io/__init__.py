"""Files: atomic writes, zip archives and JSON within limits, and columns as tables.

File formats are defined by the packages that use them.
"""
