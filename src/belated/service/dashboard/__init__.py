"""The dashboard: pages rendered on the server, over read-only connections."""

from belated.service.dashboard.pages import dashboard_routes

__all__ = ["dashboard_routes"]
