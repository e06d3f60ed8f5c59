"""Studies: sweeps, the arena, and the paper's experiments with their claims, figures and report."""
