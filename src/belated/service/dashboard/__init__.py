"""The dashboard: pages made on the server, over connections that only read."""

from belated.service.dashboard.pages import dashboard_routes

__all__ = ["dashboard_routes"]
