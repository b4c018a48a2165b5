"""The permission gate: rules, a strict shell reader, paths, a pure decision and its explanation.

Promise: what cannot be proven is asked, never allowed.
"""
