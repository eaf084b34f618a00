"""Optimization results as one HTML file that needs nothing else to be read."""

from tilewright.report.page import render, write_report
from tilewright.report.view import ResultView, result_view

__all__ = ["ResultView", "render", "result_view", "write_report"]
