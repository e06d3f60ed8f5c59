"""The forms that a policy can have: a formula for a shared loop, or a loop of its own."""
