"""Word knowledge of the guards: plain data and the functions that read it."""
