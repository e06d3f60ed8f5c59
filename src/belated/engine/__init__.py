"""The engine: laws as numbers, feedback in flight, the compiled episode."""
