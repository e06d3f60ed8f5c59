"""Simulate a problem with policies, and keep, save and draw the result."""
