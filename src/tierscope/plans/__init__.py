"""From flags, YAML files and recipes to the plan that the engine reads."""
