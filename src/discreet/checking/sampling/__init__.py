"""Attacks by samples: certify from runs alone how private a black box can be at most."""
