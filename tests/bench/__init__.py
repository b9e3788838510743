"""What a turn and an event cost, beside floors measured in the same run: `make bench`."""
