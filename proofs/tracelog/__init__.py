"""An engine's debug log against the model: which lines of it no run could have written.

`conditions` says what is possible, `slot` follows what the carry slot may hold, `reading` finds the carry's lines in a stream
of bytes, and `cli` is the command. Nothing here loads a solver; the tests prove the conditions against `spec`.
"""
