"""Models that are fitted from exact integer sums with exact noise."""
