"""Reports as one self-contained HTML file."""

from tierscope.report.html.page import render_report, write_page

__all__ = ["render_report", "write_page"]
