"""The service: the same policies in production, durable, behind HTTP."""
