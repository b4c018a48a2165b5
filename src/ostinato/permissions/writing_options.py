"""Files that a program writes because an option, or an operand of its own, says so: `sort -o x`, `git log --output=x`.

Promise: each such file is named, or None stands for one that only running tells. What a program writes of itself is no part of this.
"""

from collections.abc import Mapping
from typing import Final

from ostinato.permissions.name_set import names
from ostinato.permissions.option_words import Options, Words, found_options, git_parts, operands
from ostinato.permissions.shell_command import SimpleCommand
from ostinato.permissions.wrappers import program_name

_OUTPUT: Final = Options("o", names("output"))
WRITING: Final[Mapping[str, Options]] = {
    **dict.fromkeys(names("tree shuf iconv base64 pandoc dot xmllint xsltproc cc gcc g++ clang tac cpp docker"), _OUTPUT),
    "sort": Options("o", names("output"), "ktST"),
    "find": Options(words=names("-fprint -fprint0 -fprintf -fls")),
    "curl": Options(
        "oDc",
        names("output output-dir dump-header cookie-jar trace trace-ascii stderr hsts alt-svc etag-save libcurl"),
        "AbCdeEFHKmPQrtTuUwxXyYz",
    ),
    "wget": Options(
        "OoaP",
        names("output-document output-file append-output directory-prefix save-cookies warc-file rejected-log"),
        "eiBtTwQlADIRUX",
    ),
    "tar": Options("C", names("directory index-file listed-incremental"), "fbKLNTVXgHI"),
    "less": Options("oO", names("log-file LOG-FILE")),
    "csplit": Options("f", names("prefix"), "bn"),
    "unzip": Options("d"),
    "go": Options(words=names("-o -coverprofile -cpuprofile -memprofile -outputdir -trace")),
    "openssl": Options(words=names("-out")),
    "date": Options(),
}  # fmt: skip
_GIT_ANY: Final = Options(long=names("output"))
_GIT_SHORT: Final = Options("o", names("output output-directory"), "lNv")
_GIT_WITH_SHORT: Final = names("format-patch archive bugreport diagnose")
_ELSEWHERE: Final = names("-C --git-dir --work-tree")
_MOVING: Final = names("env sudo doas chroot find fd fdfind")
"""They may run what is inside in another folder."""


def written_by_options(chain: tuple[SimpleCommand, ...]) -> Words:
    """What all commands of the chain write by their options; inside of what may run it elsewhere only absolute names are known."""
    found: list[str | None] = []
    for index, link in enumerate(chain):
        moves = any(program_name(outer.argv[0] or "") in _MOVING for outer in chain[:index] if outer.argv)
        targets = _written(link)
        found += [
            None if moves and word is not None and not word.startswith("/") else word for word in targets
        ]
    return tuple(word for word in found if word not in {"-", ""})


def _written(link: SimpleCommand) -> Words:
    if not link.argv or link.argv[0] is None:
        return ()
    name, words = program_name(link.argv[0]), link.argv[1:]
    if name == "git":
        return _written_by_git(words)
    options = WRITING.get(name)
    by_option = () if options is None else tuple(value for _, value in found_options(options, words))
    return by_option + _written_operands(name, words)


def _written_by_git(words: Words) -> Words:
    before, subcommand, behind = git_parts(words)
    if subcommand == "bundle":
        return operands(behind)[1:2] if behind[:1] == ("create",) else ()
    options = _GIT_SHORT if subcommand in _GIT_WITH_SHORT else _GIT_ANY
    targets = tuple(value for _, value in found_options(options, behind))
    is_elsewhere = any(word is None or word.partition("=")[0] in _ELSEWHERE for word in before)
    return tuple(None for _ in targets) if is_elsewhere else targets


def _written_operands(name: str, words: Words) -> Words:
    match name:
        case "uniq" | "xxd":
            return operands(words)[1:]
        case "tee":
            return operands(words)
        case "dd":
            return tuple(word[3:] for word in words if word is not None and word.startswith("of="))
        case "tar":
            return _written_by_tar(words)
        case "sed":
            return _written_by_sed(words)
        case "yq":
            is_in_place = any(found_options(Options("i", names("inplace in-place")), words))
            return operands(words)[1:] if is_in_place else ()
        case _:
            return ()


def _written_by_tar(words: Words) -> Words:
    """The archive where one is made or added to; where files are taken out, the folder is read with the options."""
    if not words or words[0] is None:
        return ()
    is_old = not words[0].startswith("-")
    spelt = (f"-{words[0]}", *words[1:]) if is_old else words
    makes = any(
        found_options(Options("cruA", names("create append update catenate concatenate delete")), spelt)
    )
    folder = operands(words[1:])[:2] if is_old and "C" in words[0] else ()
    archive = tuple(value for _, value in found_options(Options("f", names("file"), "CbKLNTVXgHI"), spelt))
    return (*(archive if makes else ()), *folder)


def _written_by_sed(words: Words) -> Words:
    if not any(found_options(Options("i", names("in-place"), "efl"), words)):
        return ()
    has_script = any(found_options(Options("ef", names("expression file"), "il"), words))
    return operands(words) if has_script else operands(words)[1:]
