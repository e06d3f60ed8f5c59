"""Pictures, drawn on the server as SVG."""

from belated.service.dashboard.charts.ages import ages_chart
from belated.service.dashboard.charts.base import patterns, swatch
from belated.service.dashboard.charts.delays import delays_chart
from belated.service.dashboard.charts.estimates import estimates_chart
from belated.service.dashboard.charts.traffic import share_bar, traffic_chart

__all__ = ["ages_chart", "delays_chart", "estimates_chart", "patterns", "share_bar", "swatch", "traffic_chart"]
