"""Instances: data ensembles, planted models and arrangement patterns, and drawing one instance of them."""
