"""Runs of the system models: the shortest that shows a harm, and its replay on a twin in plain Python.

`search` unrolls the actions of `spec.system` or `spec.system_graphs` in a small scope; `faults` names what engines have got wrong,
each as a changed line; `machine` and `graphs` are the twins, which ask the code for every rule.
"""
