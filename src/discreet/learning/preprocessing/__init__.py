"""What is done to columns before a model sees them: public declarations for nothing, paid statistics for a price."""
