"""What policies are made of. :mod:`belated.policies` exports the part that is for users."""
