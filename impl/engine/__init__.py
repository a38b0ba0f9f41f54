"""A small engine on real memory: what the carry's books decide about is there, on a CUDA device or on the host.

Arrays are CuPy's or NumPy's by the array module given; the code is the same. Every decision calls the rules of
`impl.batched`, or whatever table of rules it is given.
"""
