"""A part of programs that tests run: it kills the program as it calls a function for the n-th time."""

KILL = """
import os, signal

real, calls = getattr(owner, place), 0


def killed(*args, **options):
    global calls
    calls += 1
    if calls == int(call):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **options)


setattr(owner, place, killed)
"""
"""`owner` has the function `place`, and `call` says at which call of it the program ends."""
