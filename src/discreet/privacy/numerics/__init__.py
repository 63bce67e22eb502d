"""Certified numerics: intervals, the normal distribution, bisection."""
