"""CUDA sources of the sweeps: cases from their index, the rules of impl.batched, and oracles in sets and masks."""
