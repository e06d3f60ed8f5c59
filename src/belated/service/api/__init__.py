"""The HTTP API.

Each route is declared at its handler (``experiments``, ``decisions``, ``monitoring``) with its role, messages and
problem types; ``routing`` dispatches requests, ``openapi`` documents the routes.
"""

from belated.service.api import decisions, experiments, monitoring

GROUPS = (experiments.routes, decisions.routes, monitoring.routes, monitoring.server_routes)
ROUTES = tuple(route for group in GROUPS for route in group)
"""Every route of the API."""
