"""The report: what a model is made of, how good it is and why it decides as it does, in one HTML file."""

from gdlnn.report.build import ReportOptions, build_report, render_report, write_report

__all__ = ["ReportOptions", "build_report", "render_report", "write_report"]
