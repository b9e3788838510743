"""`askbus doctor`: everything that a deployment depends on, looked at from outside the services, with what to do where it is wrong."""
