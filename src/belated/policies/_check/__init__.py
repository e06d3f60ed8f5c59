"""What is wrong with a policy of one's own: its code, and how it plays as plain Python."""
