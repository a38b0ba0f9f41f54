"""Code against the spec: front ends for Rust, CUDA and Python, one executor, one comparison."""
