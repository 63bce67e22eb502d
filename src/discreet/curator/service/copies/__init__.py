"""What notices that a ledger or its data exist twice: the place of a ledger, a witness of its head, a mark in data."""
