"""What runs: the bookkeeping functions as programs, in several tellings that never import one another's rules."""
