"""The dashboard: pages rendered on the server, over read-only connections."""
