"""The text of some pages of a PDF, as JSON on standard output: run as a script of its own, in a child that may fail or hang.

Arguments: the file, the SHA-256 its bytes must have, the first and the last page. Imports nothing of the package, so that it
needs no more than the interpreter and pypdf.
"""

import hashlib
import io
import json
import logging
import os
import resource
import stat
import sys

import pypdf
import pypdf.errors

MEMORY_BYTES = 2 << 30
SAFE_OPEN = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK | os.O_NOCTTY


def main(path: str, content_hash: str, first: int, last: int) -> dict[str, object]:
    """`pages` is how many there are, `texts` those asked for; or `error`."""
    limit_memory()
    data = read(path)
    if hashlib.sha256(data).hexdigest() != content_hash:
        return {"error": "it changed while it was read"}
    logging.disable()  # what a library thinks of a file is not for the terminal
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return {
                "error": "it is encrypted and opens with a password only; take that off with a command, such as qpdf --decrypt"
            }
        count = len(reader.pages)
        texts = texts_of(reader, range(first, min(last, count) + 1))
    except MemoryError:
        return {"error": "it needs too much memory"}
    except pypdf.errors.DependencyError:
        return {"error": "it is encrypted with AES, which `pip install 'ostinato[media]'` lets Read open"}
    except Exception as error:  # ruff: ignore[blind-except] - whatever a hostile file makes the library raise
        return {"error": f"it cannot be understood ({type(error).__name__}: {error})"}
    return {"pages": count, "texts": texts}


def texts_of(reader: pypdf.PdfReader, numbers: range) -> list[str]:
    """A page that is damaged hides no other; raises what is wrong where all of them are."""
    texts: list[str] = []
    wrong: list[Exception] = []
    for number in numbers:
        try:
            texts.append(reader.pages[number - 1].extract_text())
        except (MemoryError, pypdf.errors.DependencyError):
            raise
        except Exception as error:  # ruff: ignore[blind-except] - whatever a hostile page makes the library raise
            wrong.append(error)
            texts.append(f"[this page cannot be understood ({type(error).__name__}: {error})]")
    if wrong and len(wrong) == len(texts):
        raise wrong[0]
    return texts


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def read(path: str) -> bytes:
    descriptor = os.open(path, SAFE_OPEN)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return b""
    with open(descriptor, "rb") as file:
        return file.read()


if __name__ == "__main__":
    answer = main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    sys.stdout.write(json.dumps(answer))
