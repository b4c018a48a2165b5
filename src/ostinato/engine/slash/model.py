"""`/model`: which model answers, and another one from the next prompt on."""

from typing import Final

from ostinato.engine.cache_price import price_of_other_model
from ostinato.engine.conversation_context import ConversationContext
from ostinato.engine.slash.near_names import did_you_mean, near_names
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.errors import OstinatoError
from ostinato.ports import ModelFacts
from ostinato.records import ResponseEnded

_NAME_CHARACTERS: Final = 200
_REASON_CHARACTERS: Final = 500


async def answer_model(scene: SlashScene, arguments: str) -> SlashReply:
    """Raises ConfigurationError for a name that is no model's; it names the nearest."""
    if not arguments:
        problem = scene.model_problem
        return SlashReply(_account(scene.model) if problem is None else _unusable(scene.model, problem))
    before, context = scene.model, scene.context()
    facts = await scene.set_model(arguments)
    price = _price(context, before, facts)
    return SlashReply(f"from the next prompt on: {_account(facts)}{_doubt(facts)}{price}")


def _account(facts: ModelFacts) -> str:
    name = shown_line(f"{facts.provider}/{facts.id}", _NAME_CHARACTERS)
    return f"{name} ({facts.context_window:,} tokens of context)\n"


def _unusable(facts: ModelFacts, problem: OstinatoError) -> str:
    hint = f"hint: {shown_line(problem.hint, _REASON_CHARACTERS)}\n" if problem.hint else ""
    return f"{unusable_model(facts, problem)}\n{hint}"


def unusable_model(facts: ModelFacts, problem: OstinatoError) -> str:
    """In one line: the name, as far as one was given, and why no model can be asked."""
    name = "no model" if facts.id == facts.provider else shown_line(facts.id, _NAME_CHARACTERS)
    return f"{name}: {shown_line(problem.message, _REASON_CHARACTERS)}"


def _price(context: ConversationContext, before: ModelFacts, after: ModelFacts) -> str:
    """Nothing where none has read anything yet, or the one that answered last goes on."""
    log = context.state.messages.log()
    last = next((one.model for one in reversed(log) if isinstance(one, ResponseEnded)), None)
    if last is None or last == after.id:
        return ""
    return price_of_other_model(context.used_tokens(), before if before.id == last else None, after)


def _doubt(facts: ModelFacts) -> str:
    """A provider may have any model, so a name that we do not know is taken, and said to be unknown."""
    from ostinato.providers.catalogue import MODELS  # ruff: ignore[import-outside-top-level] - only this command needs it

    ids = [one.id for one in MODELS if one.provider == facts.provider]
    if facts.provider in {"local", "scripted"} or any(facts.id.startswith(one) for one in ids):
        return ""
    question = did_you_mean(near_names(facts.id, ids))
    return f"note: nothing is known of this model, its price included; {question}".rstrip("; ") + "\n"
