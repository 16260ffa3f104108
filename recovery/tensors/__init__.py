"""Parameters of ReLU networks from Hermite moments: moments, rank-one terms, scalars, signs and polish (P4)."""
