"""The engine: problems as arrays, the compiled loop, channels for pending feedback, sources of draws."""
