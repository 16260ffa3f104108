"""An exact counterexample to P1's Proposition 7, in fractions.

The proposition states that for d < n < 2d the exact program with a skip connection recovers a linear neuron w* with
probability 1 unless X w* >= 0. Here X w* = (4, -6, -4, 9), and the network
    f(x) = w0.x + (u1.x)_+ + (u2.x)_+
has the same four labels at a sum of norms of at most 2.60502, less than ||w*|| = sqrt 29. No activation is zero, so
the same holds for every X near this one: for a set of positive probability. The proof's error: A <= B does not imply
A^2 <= B^2.
"""

from fractions import Fraction

X = ((3, 2, -1), (-1, -4, -1), (-4, -4, 0), (-4, 3, 2))
"""Rows of the data, n = 4, d = 3."""
PLANTED = (-2, 3, -4)
"""w*."""
SKIP = (Fraction(-941, 7100), Fraction(10739, 7100), Fraction(727, 7100))
"""w0."""
NEURONS = (
    (Fraction(-9, 20), Fraction(7, 100), Fraction(3, 20)),
    (Fraction(187, 1775), Fraction(1054, 1775), Fraction(51, 1775)),
)
"""First layers u1 and u2. Their outer weights are 1, so each adds ||u|| to the sum of norms."""
MOST = Fraction(260502, 100000)
"""An upper bound on ||w0|| + ||u1|| + ||u2||."""
