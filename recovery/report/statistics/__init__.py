"""What is estimated from a diagram: thresholds, intervals, scaling, sensitivity, comparisons of two grids."""
