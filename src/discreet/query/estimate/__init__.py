"""From a lowered question to statistics, their noise and price, and the estimators made of them."""
