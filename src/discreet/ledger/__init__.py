"""The durable budget: entries bound by hashes, charges, receipts. Knows nothing of tables."""
