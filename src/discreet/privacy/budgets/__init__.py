"""Budgets that are spent as one goes, and the least noise that fits one."""
