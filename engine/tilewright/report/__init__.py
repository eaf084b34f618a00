"""Optimization results as one HTML file that needs nothing else to be read."""

from tilewright.report.view import ResultView, render, result_view, write_report

__all__ = ["ResultView", "render", "result_view", "write_report"]
