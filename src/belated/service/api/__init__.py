"""The HTTP API.

Each route is declared at its handler (``experiments``, ``decisions``, ``monitoring``) with its role, messages and
problem types; ``router`` dispatches requests, ``openapi`` documents the routes.
"""
