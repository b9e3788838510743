"""The question-broker: the only writer of questions and their notes."""
