"""A reply that asks for nothing: the query is done. Stop hooks and the token budget will be asked here first."""

from ostinato.loop.transitions.step import End, Step
from ostinato.state import Answered, Empty, Paused


def answered(outcome: Answered | Empty | Paused) -> Step:
    del outcome
    return End("completed")
