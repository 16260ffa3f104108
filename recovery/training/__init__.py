"""Training of two-layer ReLU networks by gradient methods: models, losses, optimisers, and one loop.

Nothing here knows an instance or a row; `recovery.methods.train` makes a method of it.
"""
