"""Programs that mostly read, and the options by which they write files or run others: a wide rule covers neither."""

from itertools import pairwise

import pytest
from tests.permissions.gate_calls import bash, policy

from ostinato.permissions.decision import decide
from ostinato.permissions.rules import parse_rule
from ostinato.permissions.verdict import Ask

WRITING = (
    "git log --output=/etc/x", "git log --output /etc/x", "git log --outp=/etc/x", "git log --ou /etc/x", "git diff --output=/etc/x",
    "git show --output=/etc/x HEAD", "git diff HEAD --output=/etc/x -- a", "git format-patch -o /etc/x HEAD", "git format-patch -o/etc/x",
    "git format-patch --output-directory=/etc/x", "git archive -o /etc/x.tar HEAD", "git archive --output=/etc/x HEAD", "git shortlog --output=/etc/x",
    "git -C /etc log --output=x", "git --no-pager log --output=/etc/x", "git bundle create /etc/x HEAD", "git whatchanged --output=/etc/x",
    "git diff-tree -p --output=/etc/x HEAD", "git log $x", "git log *", "git stash show --output=/etc/x", "sort -o /etc/x a", "sort -o/etc/x a", "sort -no /etc/x a",
    "sort a --output=/etc/x", "sort a --outp /etc/x", "sort $x", "tree -o /etc/x", "tree -ao /etc/x", "sed -i s/a/b/ /etc/x", "sed -ni p /etc/x",
    "sed -i.bak s/a/b/ /etc/x", "sed --in-place s/a/b/ /etc/x", "sed -e s/a/b/ -i /etc/x", "sed -n 'w /etc/x' a", "sed 's/a/b/w /etc/x' a",
    "sed -n '/a/w /etc/x' a", "sed p\\;w/etc/x a", "sed -f script a", "find . -fprint /etc/x", "find . -fprintf /etc/x %p", "find . -fls /etc/x", "find . -fprint0 /etc/x",
    "find /etc -delete", "find . -exec sort -o /etc/x {} +", "curl -o /etc/x u", "curl -so/etc/x u", "curl --output /etc/x u", "curl -D /etc/x u", "curl -c /etc/x u",
    "curl -O u", "curl -sSLO u", "curl --remote-name u", "curl -w '%output{/etc/x}a' u", "curl -K file u", "curl --output-dir /etc -o x u", "wget -O /etc/x u", "wget -qO/etc/x u", "wget -P /etc u",
    "wget -o /etc/x u", "wget --output-document=/etc/x u", "tar cf /etc/x a", "tar -cf /etc/x a", "tar -czf /etc/x a", "tar -xf a -C /etc", "tar xfC a /etc", "tar xPf a",
    "tar --create --file=/etc/x a", "tar -xf a --directory=/etc", "awk '{print > \"/etc/x\"}' a", "awk -f script a", "date -s 10:00", "date --set=10:00",
    "date 120110002026", "hostname x", "file -C -m a", "less -o /etc/x a", "uniq a /etc/x", "uniq -c a /etc/x", "xxd a /etc/x", "xxd -r a /etc/x", "dd if=a of=/etc/x",
    "tee /etc/x", "yq -i . /etc/x", "shuf -o /etc/x a", "base64 -o /etc/x a", "env -C /etc sort -o x a", "ls | xargs sort", "ls | xargs -I {} sort -o {} a",
    "bash -c 'sort -o /etc/x a'", "timeout 5 git log --output=/etc/x",
)  # fmt: skip
RUNNING = (
    "git log --ext-diff", "git log -p --textconv", "git diff --ext-diff", "git grep -O x", "git grep -Ovi x", "git grep --open-files-in-pager=vi x",
    "git -c core.pager=vi log", "git rebase -x vi main", "git rebase --exec vi main", "git difftool -x vi", "git fetch --upload-pack=vi", "git bisect run vi",
    "git ls-remote --upload-pack=vi .", "rg --pre vi x", "rg --pre=vi x", "rg --hostname-bin=vi x", "ag --pager vi x", "sort --compress-program=vi a", "sort --comp vi a", "find . -exec vi {} +",
    "fd -x vi", "fd --exec=vi x", "fd . --exec-batch vi", "bat --pager vi a", "batcat --pager=vi a", "man -P vi ls", "man -Pvi ls", "man --pager=vi ls", "less +!vi a",
    "less '+!vi' a", "env -S 'vi a'", "xargs vi", "awk 'BEGIN{system(\"vi\")}'", "gawk '{print | \"vi\"}' a", "sed 1e a", "sed 's/a/vi/e' a", "sed -n '1e vi' a",
    "tar -I vi -xf a", "tar --to-command=vi -xf a", "tar --checkpoint-action=exec=vi -cf a b", "tar -xf a --use-comp=vi", "split --filter=vi a", "rsync -e vi a b", "wget -e x=y u",
    "make build SHELL=vi", "make -f other build", "go test -exec vi", "cargo build --config a", "npm test --script-shell=vi",
)  # fmt: skip
ALLOWED = (
    "git log --oneline -5", "git log --format=%s -- a", "git diff --text HEAD", "git show HEAD", "git branch new", "git tag v1", "git commit -o a -m x", "git ls-files -o", "git push -o ci.skip",
    "git add $x", "git add *", "git commit -m $x", "sort -k 2 a", "sort src/*", "tree -a", "sed -n 1,5p a", "sed s/a/b/g a", "sed -E 's/(a)/b/; s/c/d/' a",
    "find . -name x -print", "curl -sSf u", "curl -H x u", "wget u", "tar -tf a", "tar xf a", "tar -xzf a", "awk '{print $1}' a", "date +%s", "hostname", "file a", "man ls",
    "less a", "uniq -c a", "xxd a", "dd if=a", "rg x", "rg --pretty x", "fd x", "bat a", "bat -p a", "jq . a", "yq . a", "make build", "make build X=1", "go test ./...", "npm test -- -x", "cargo build",
    "curl -o /dev/null u",
)  # fmt: skip


def wide(command: str) -> tuple[str, ...]:
    """A rule for each program of the line with any words, and for git's subcommands as they are offered."""
    words = [word for word in command.replace("'", " ").split() if word.isalnum()]
    found = [
        f"allow Bash({word}:*)" for word in dict.fromkeys(words) if word not in {"vi", "build", "x", "a"}
    ]
    return (
        *found,
        *(
            f"allow Bash({one} {two}:*)"
            for one, two in pairwise(words)
            if one in {"git", "make", "go", "npm"}
        ),
    )


@pytest.mark.parametrize("command", WRITING + RUNNING)
def test_a_wide_rule_does_not_cover_what_writes_elsewhere_or_runs_another_program(command: str):
    call = bash(command)
    assert isinstance(decide(call, policy(*wide(command))), Ask)
    assert isinstance(decide(call, policy(*wide(command), mode="acceptEdits")), Ask)


@pytest.mark.parametrize("command", WRITING + RUNNING)
def test_no_wide_rule_is_offered_for_it(command: str):
    verdict = decide(bash(command), policy())
    assert isinstance(verdict, Ask)
    offered = [parse_rule(text, "allow", "test settings") for text in verdict.suggestions]
    assert not [rule for rule in offered if rule.tool == "Bash" and "*" in (rule.spec or "")]


@pytest.mark.parametrize("command", ALLOWED)
def test_other_words_are_covered_as_before(command: str):
    assert type(decide(bash(command), policy(*wide(command)))).__name__ == "Allow"


@pytest.mark.parametrize(
    "command", ["git log --output=notes/x", "sort -o notes/x a", "curl -o notes/x u", "sed -i s/a/b/ notes/x"]
)
def test_a_file_that_an_option_writes_is_judged_as_a_write(command: str):
    rules = wide(command)
    assert type(decide(bash(command), policy(*rules, "allow Edit(notes/**)"))).__name__ == "Allow"
    assert type(decide(bash(command), policy(*rules, mode="acceptEdits"))).__name__ == "Allow"
    assert (
        type(decide(bash(command), policy("deny Edit(notes/**)", mode="bypassPermissions"))).__name__
        == "Deny"
    )
    asked = decide(bash(command), policy(*rules))
    assert isinstance(asked, Ask)
    assert asked.suggestions


def test_a_rule_that_spells_the_whole_command_covers_its_options_too():
    for command in ("git log --output=/tmp/x", "sort -o /tmp/x a", "rg --pre vi x", "find /tmp/x -delete"):
        assert type(decide(bash(command), policy(f"allow Bash({command})"))).__name__ == "Allow"
        assert type(decide(bash(f"{command} > /tmp/x"), policy(f"allow Bash({command})"))).__name__ == "Ask"
