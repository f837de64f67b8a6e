"""Fuzzing: what readers make of hostile bytes. One function per reader, and a run with atheris."""
