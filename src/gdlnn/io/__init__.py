"""Files: atomic writes, the journal, the folder lock, and zip archives and JSON within limits.

File formats are defined by the packages that use them.
"""
