"""What the program's speed is measured with: one script a subject, ratios within one run, never part of the tests."""
