"""Pictures of measurements: their forms, and drawing them as SVG or PNG."""
