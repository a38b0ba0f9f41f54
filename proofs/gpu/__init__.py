"""The batched implementation against its claims, exhaustively in small scopes: on CUDA devices, or on the host."""
