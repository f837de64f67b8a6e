"""Speed of our own parts, as rates and ratios: `python -m benchmarks [part ...]`."""
