"""Reports as text: tables, and in `terminal`, which loads rich, the map of a terminal."""

from recovery.report.texts.tables import as_csv, as_json, as_latex, csv_text
