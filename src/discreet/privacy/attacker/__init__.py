"""What a promise means to an attacker: in words and in pictures."""
