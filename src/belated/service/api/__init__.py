"""The HTTP API: routes, messages, problems."""
