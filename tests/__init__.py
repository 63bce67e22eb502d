"""Tests, and what benches share with them."""
