"""The plan: small immutable nodes, types, schema, and the work that an engine is asked to do."""
