"""From stored grids to what people look at: statistics, claims, figures, pages, the terminal."""
