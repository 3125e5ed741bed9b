"""Programs that the recipes of effect run, each a process of its own."""
