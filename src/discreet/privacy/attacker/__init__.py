"""What a promise means to an attacker: in text and in pictures."""
