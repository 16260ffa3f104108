"""Rigorous proofs of verdicts, in ball arithmetic and integers."""
