"""Counts, sums, moments, quantiles, histograms, trees and marginals of records."""
