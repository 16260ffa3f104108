"""Reports as text: the map of a terminal, tables."""

from recovery.report.texts.tables import as_csv, as_json, as_latex, as_markdown, cell_table, csv_text
from recovery.report.texts.terminal import maps, print_diagram

__all__ = ["as_csv", "as_json", "as_latex", "as_markdown", "cell_table", "csv_text", "maps", "print_diagram"]
