"""What the engine costs, as ratios to floors that are measured in the same run. Figures and method: `docs/benchmarks.md`."""
