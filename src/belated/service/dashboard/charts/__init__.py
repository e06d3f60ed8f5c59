"""Charts, drawn on the server as SVG."""

from belated.service.dashboard.charts.arms import estimates_chart, share_bar, traffic_chart
from belated.service.dashboard.charts.base import patterns, swatch
from belated.service.dashboard.charts.delays import ages_chart, delays_chart

__all__ = ["ages_chart", "delays_chart", "estimates_chart", "patterns", "share_bar", "swatch", "traffic_chart"]
