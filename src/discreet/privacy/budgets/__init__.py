"""Budgets that are spent as one goes, and the least noise that fits one."""

from discreet.privacy.budgets.calibrate import budget_for, calibrate
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.budgets.odometers import Odometer, PureOdometer

__all__ = ["Filter", "Odometer", "PureOdometer", "Rule", "budget_for", "calibrate"]
