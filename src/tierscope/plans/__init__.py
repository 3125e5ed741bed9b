"""From flags and YAML files to requests, and from those to the plan that the engine reads."""
