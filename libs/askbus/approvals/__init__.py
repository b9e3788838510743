"""Standing approvals: a kind of change that a person approves in advance, for one conversation or one of their tokens."""
