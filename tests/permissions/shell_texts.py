"""Shell texts to read: grown from a grammar, real command lines with small damage, and plain noise. The same for the same seed."""

import random

REAL = [
    "git status && git diff --stat HEAD~1", "git add -A && git commit -m \"fix: don't fail\"", "npm run build 2>&1 | tail -n 20",
    "cd src && ls -la", "find . -name '*.py' -not -path './.venv/*' | xargs grep -n \"TODO\"", "grep -rn \"def main\" --include=*.py .",
    "for f in *.txt; do echo \"$f\"; wc -l < \"$f\"; done", "if [ -f package.json ]; then npm test; else echo none; fi",
    "cat <<'EOF' > notes.md\n# Title\n$(not run)\nEOF", "cat <<EOF | sort\n$HOME\n$(hostname)\nEOF", "git commit -m \"$(cat <<'EOF'\nfix: it's done\n\nmore\nEOF\n)\"",
    "PYTHONPATH=src pytest -q tests/a.py::test_b -k 'not slow'", "timeout 30 env CI=1 nice -n 5 make -j4 all", "sed -n '1,20p' a.py; sed -i 's/a/b/g' b.py",
    "python3 - <<'PY'\nprint(\"a && b; c\")\nPY", "awk '{print $1}' f | sort | uniq -c | sort -rn | head", "curl -s https:%%x.test | jq -r '.a[] | .b'",
    "docker run --rm -v \"$PWD\":w -w w node:20 npm ci", "test -d build || mkdir -p build && cd build && cmake ..", "tar czf out.tgz --exclude='*.o' src",
    "echo \"a;b|c&d\" 'x > y' \\$z", "kill -9 $(pgrep -f server) || true", "ps aux | grep [n]ode", "cp {a,b}.txt dst", "rm -f *.pyc .coverage",
    "case \"$1\" in start|stop) echo ok;; *) exit 1;; esac", "while read -r line; do echo \"$line\"; done < f", "diff <(sort a) <(sort b)",
    "x=$(git rev-parse HEAD); echo ${x:0:7} ${x:-none}", "! grep -q foo f && echo none", "{ echo a; echo b; } > out.txt 2>&1", "(cd src; ls) | wc -l",
    "ls -la # all of it\necho done", "echo a\\\nb; ec\\\nho c", "git log --oneline -5 -- 'a b.py'", "time -p make", "echo $((1 + 2)) $(( 3*4 ))", "[[ -n $x && $y == a* ]] && echo yes",
    "a=1 b=\"2 3\" cmd --flag=\"v w\"", "npm test -- --watch=false >> log.txt 2>> err.txt &", "echo `date +%s` \"`hostname`\"", "printf '%s\\n' \"$@\"", "bash -c 'echo hi; ls'",
]  # fmt: skip
ATOMS = [
    "a", "b c", " ", "  ", "\n", ";", "&", "&&", "||", "|", "|&", "'", '"', "\\", "\\\n", "$", "$(", ")", "`", "(", "{", "}", "<", ">", ">>", "<<A\n", "\nA\n", "<(", "$((", "))",
    "${x", "${", "${x:-", "#", " #", "if ", "; then ", "; fi", "for x in ", "; do ", "; done", "case a in ", ") b;; ", " esac", "[[ ", " ]]", "=", "x=", "~", "*", "[", "]", "!", "! ",
    "$'", '$"', "é", "1", "2>", "&>", "<<<", "<<-", "$x", "{a,b}", "\t", "\\$", "\\\"", "\\'", "time ", "function ", "()", ">|", "<>", ">&", "{fd}>", "-", ">&-", "<&-",
]  # fmt: skip
NAMES = ["a", "git", "rm", "npm", "echo", "b-c", "x.y", "cat", "wc", "test", "true"]


def noise(chooser: random.Random) -> str:
    """Signs of the grammar in no order; short ones are often legal, long ones hardly ever."""
    longest = chooser.choice([8, 40])
    return "".join(chooser.choices(ATOMS, k=chooser.randint(1, longest)))


def damaged(chooser: random.Random) -> str:
    """A real command line with one to four places inserted, removed, doubled or exchanged."""
    text = chooser.choice(REAL)
    if chooser.random() < 0.2:
        text += chooser.choice(["; ", " && ", " | ", "\n"]) + chooser.choice(REAL)
    for _ in range(chooser.randint(1, 4)):
        start = chooser.randint(0, len(text))
        end = min(len(text), start + chooser.choice([0, 0, 1, 1, 2, 5]))
        text = text[:start] + chooser.choice([*ATOMS, "", "", text[start:end] * 2]) + text[end:]
    return text


class Grown:
    """A legal text, mostly: every production of the grammar with every kind of word in it."""

    def __init__(self, chooser: random.Random) -> None:
        self._chooser = chooser
        self._waiting: list[str] = []

    def text(self) -> str:
        found = self._list(self._chooser.randint(1, 3), 2)
        return found + self._bodies()

    def _bodies(self) -> str:
        waiting, self._waiting = self._waiting, []
        return "".join(waiting) and "\n" + "\n".join(waiting)

    def _list(self, count: int, depth: int) -> str:
        text = self._pipeline(depth)
        for _ in range(count - 1):
            separator = self._chooser.choice(["; ", ";", " && ", "&&", " || ", " & ", "\n", "; # note\n"])
            if "\n" in separator:
                separator = separator.replace("\n", self._bodies() + "\n")
            text += separator + self._pipeline(depth)
        return text

    def _pipeline(self, depth: int) -> str:
        bang = self._chooser.choice(["", "", "", "", "! ", "time "])
        stages = [self._stage(depth) for _ in range(self._chooser.choice([1, 1, 1, 2, 3]))]
        return bang + self._chooser.choice([" | ", "|", " |& "]).join(stages)

    def _stage(self, depth: int) -> str:
        if depth <= 0 or self._chooser.random() < 0.6:
            return self._simple(depth)

        # A list inside one line must not leave a here-document behind that waits for its line.
        def inner() -> str:
            return self._inner(depth)

        form = self._chooser.choice(["{b}", "(b)", "if", "for", "case", "while", "[["])
        tail = self._chooser.choice(["", "", " > out", " 2>&1"])
        match form:
            case "{b}":
                return f"{{ {inner()}; }}{tail}"
            case "(b)":
                return f"({inner()}){tail}"
            case "if":
                other = self._chooser.choice(["", f"else {inner()}; ", f"elif {inner()}; then {inner()}; "])
                return f"if {inner()}; then {inner()}; {other}fi{tail}"
            case "for":
                return f"for v in {self._word(0)} {self._word(depth - 1)}; do {inner()}; done{tail}"
            case "case":
                return f"case {self._word(0)} in a|b) {inner()};; *) {inner()};; esac{tail}"
            case "while":
                return f"while {inner()}; do {inner()}; done{tail}"
            case _:
                return f"[[ -f {self._word(0)} && $x == {self._word(0)} ]]"

    def _inner(self, depth: int) -> str:
        kept, self._waiting = self._waiting, []
        text = Grown(self._chooser)._list(self._chooser.choice([1, 1, 2]), depth - 1)
        self._waiting = kept
        return text if "<<E" not in text and "<<'E" not in text else "echo inner"

    def _simple(self, depth: int) -> str:
        parts = [
            f"V{index}={self._word(depth - 1)}" for index in range(self._chooser.choice([0, 0, 0, 1, 2]))
        ]
        parts.append(self._name())
        parts += [self._word(depth - 1) for _ in range(self._chooser.randint(0, 4))]
        for _ in range(self._chooser.choice([0, 0, 0, 1, 2])):
            parts.insert(self._chooser.randint(0, len(parts)), self._redirect(depth - 1))
        return self._chooser.choice([" ", " ", "  ", "\t", " \\\n"]).join(parts)

    def _name(self) -> str:
        name = self._chooser.choice(NAMES)
        cut = self._chooser.randint(0, len(name))
        return self._chooser.choice([name, name, name, name, f"'{name}'", f'{name[:cut]}""{name[cut:]}', f"{name[:cut]}\\\n{name[cut:]}", f"\\{name}"])  # fmt: skip

    def _redirect(self, depth: int) -> str:
        match self._chooser.choice([
            ">",
            ">>",
            "<",
            "2>",
            "&>",
            "2>&1",
            "<<<",
            "<<E",
            "<<'E'",
            ">|",
            "{n}>",
            ">&",
            "2>&-",
            "<&-",
            "<>",
        ]):
            case "2>&1":
                return "2>&1"
            case "<<E":
                self._waiting.append(
                    self._chooser.choice(["text $x\nE", "\nE", "a `b` $(c d)\nE", "it's \\$(no)\nE"])
                )
                return "<<E"
            case "<<'E'":
                self._waiting.append("$(not) `run` \\\nE")
                return "<<'E'"
            case operator:
                return operator + self._chooser.choice(["", " "]) + self._word(depth)

    def _word(self, depth: int) -> str:
        pieces = [self._piece(depth) for _ in range(self._chooser.choice([1, 1, 1, 2, 3]))]
        return "".join(pieces)

    def _piece(self, depth: int) -> str:
        plain = self._chooser.choice([
            "x",
            "a.txt",
            "-n",
            "--flag=v",
            "9",
            "k=v",
            "a#b",
            "é",
            "%s",
            "@{u}",
            "HEAD~1",
            "a,b",
            "]",
        ])
        quoted = self._chooser.choice([
            "'a b'",
            '"a b"',
            "''",
            '""',
            "'a\nb'",
            '"it\'s"',
            "'say \"hi\"'",
            '"\\$x \\" \\\\ \\n"',
            "\\ ",
            "\\;",
            "$'a\\tb'",
            "'$(no)'",
            '"a;b|c"',
        ])
        active = self._chooser.choice([
            "$x",
            '"$x"',
            "${x}",
            '"${x:-d}"',
            "$1",
            "*.py",
            "[ab]*",
            "~",
            "{a,b}",
            "$((1+2))",
            '"$@"',
            "${#x}",
            "${x%.*}",
            "?",
        ])
        if depth > 0 and self._chooser.random() < 0.15:
            inner = self._inner(depth)
            return self._chooser.choice([
                f"$({inner})",
                f'"$({inner})"',
                f"<({inner})",
                f"`{self._chooser.choice(NAMES)} z`",
            ])
        return self._chooser.choice([plain, plain, plain, quoted, quoted, active])


def grown(chooser: random.Random) -> str:
    return Grown(chooser).text()
