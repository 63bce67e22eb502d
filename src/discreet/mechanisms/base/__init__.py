"""What every mechanism shares: the role, exact inputs, sensitivities."""
