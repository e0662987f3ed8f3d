"""The benchmark of Litz; README.md says how the files hang together."""
