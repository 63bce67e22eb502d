"""Totals of units as SQL: clipped sums, and units by class."""
