"""Which variables matter: networks with an l1 penalty on their input weights, baselines, and cutoffs (P3).

Nothing here knows an instance or a row; `recovery.methods.variable_selection` makes a method of it.
"""
