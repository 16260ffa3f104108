"""Conditions under which planted weights are recovered, and the search for the pattern that breaks them."""
