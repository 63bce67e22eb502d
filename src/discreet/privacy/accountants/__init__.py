"""What events cost: one accountant per file, and the conversions between promises."""
