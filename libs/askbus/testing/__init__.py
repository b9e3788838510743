"""What tests stand on: real servers, a fresh database per test, factories, and waiting for facts."""
