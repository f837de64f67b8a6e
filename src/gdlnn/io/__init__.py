"""What every part writes files with: atomic files, the journal, the folder lock, the bounded zip archive.

The part that writes a file decides what is in it.
"""
