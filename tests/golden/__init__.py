"""Answers of stored models, kept to see that a change leaves them as they were."""
