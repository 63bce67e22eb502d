"""Commands for whoever runs a curator: tokens, keys, the audit log, upkeep of the ledger."""
