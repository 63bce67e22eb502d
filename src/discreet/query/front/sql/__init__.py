"""SQL text to a plan: parsed by sqlglot, read by an allow-list, refused by name."""
