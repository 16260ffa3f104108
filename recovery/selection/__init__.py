"""Variable selection by networks with an l1 penalty on their input weights, baselines, and cutoffs (P3).

This package uses plain arrays only; `recovery.methods.variable_selection` is the method that calls it.
"""
