"""What others need in order to check the claims themselves: certificates, the bundle, and its verifier."""
