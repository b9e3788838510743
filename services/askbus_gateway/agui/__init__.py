"""AG-UI (https://docs.ag-ui.com, protocol 1.0): a turn as a run, for front ends that speak it."""
