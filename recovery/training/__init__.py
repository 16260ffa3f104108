"""Training of two-layer ReLU networks by gradient methods: models, losses, optimisers, and one loop.

This package uses plain arrays only; `recovery.methods.train` is the method that calls it.
"""
