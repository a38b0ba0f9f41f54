"""`python -m proofs.gpu`: the same commands as `draftproof gpu`, without the solvers that the rest of it loads."""

from proofs.gpu.cli import gpu

if __name__ == "__main__":
    gpu(prog_name="python -m proofs.gpu")
