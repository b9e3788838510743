"""The agent-loop: the only writer of threads, messages, turns and steps."""
