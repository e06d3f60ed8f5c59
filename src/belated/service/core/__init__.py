"""What the service does: experiments, events, operations, transactions, the writer."""
