"""Mutation testing of the implementations: does their test suite notice a change of any line of theirs?"""
