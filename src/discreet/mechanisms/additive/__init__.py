"""Exact value plus discrete noise: Laplace and Gaussian."""
