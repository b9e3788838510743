"""The tool-runner: runs the calls that models ask for, and is the only writer of their runs."""
