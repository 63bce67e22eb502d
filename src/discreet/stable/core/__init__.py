"""What every stable map is: domains, metrics, total functions, releases."""
