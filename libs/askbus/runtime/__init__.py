"""What every service runs on: settings, logs, traces, the life cycle of a process and its health."""
