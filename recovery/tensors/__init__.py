"""Parameters of ReLU networks from Hermite moments: moments, rank-one terms, scalars and signs, polish (P4)."""
