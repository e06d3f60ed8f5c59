"""Speculative execution for policies whose choice changes only with feedback: rounds played ahead, and undone."""
