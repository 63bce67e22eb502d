"""Tables over a hierarchy that add up: planned as one, measured with exact noise, solved, and made whole."""
