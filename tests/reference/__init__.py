"""Slow, obvious code that the tests hold the fast code against."""
