"""The CUDA text of the head. It compiles for the host as well."""
