"""A command that a rule denies is not run by another program's hand: runners, other shells, texts with commands in them."""

import pytest
from tests.permissions.gate_calls import MODES, bash, outcome

HIDDEN = (
    "uv run rm x", "npx rm x", "npm exec rm x", "npm exec -- rm x", "pnpm dlx rm x", "poetry run rm x", "strace -f rm x", "taskset 1 rm x",
    "unshare -r rm x", "flock l rm x", "flock l -c 'rm x'", "script -c 'rm x'", "su -c 'rm x'", "su - root -c 'rm x'", "parallel rm ::: x",
    "systemd-run --user rm x", "fakeroot rm x", "ssh host rm x", "ssh host 'cd a; rm x'", "docker run image rm x", "docker exec box sh -c 'rm x'",
    "kubectl exec pod -- rm x", "awk 'BEGIN{system(\"rm x\")}'", "awk '{print | \"rm x\"}' f", "perl -e 'system(\"rm x\")'",
    "perl -e '`rm x`'", "python3 -c 'import os; os.system(\"rm x\")'", "node -e 'exec(`rm x`)'", "ruby -e 'system %(rm x)'",
    "sed 's/a/rm x/e' f", "sed -n '1e rm x' f", "tar --checkpoint=1 --checkpoint-action=exec='rm x' -cf a b", "tar -I 'rm x' -xf a",
    "tar --to-command='rm x' -xf a", "git -c alias.x='!rm x' x", "git -c core.pager='rm x' log", "git rebase --exec 'rm x' main",
    "git bisect run rm x", "git submodule foreach 'rm x'", "git filter-branch --tree-filter 'rm x'", "git ls-remote 'ext::rm x'",
    "make SHELL='rm x'", "vim -c '!rm x'", "ex -sc '!rm x' f", "toybox rm x", "setpriv --no-new-privs rm x", "runuser -u a -- rm x",
    "nsenter -t 1 rm x", "bwrap --bind / / rm x", "chrt 1 rm x", "fish -c 'rm x'", "csh -c 'rm x'", "entr -r rm x", "tmux new -d 'rm x'",
    "screen -dm rm x", "expect -c 'spawn rm x'", "gdb -ex '!rm x'", "rsync -e 'rm x' a b", "man -P 'rm x' ls", "less '+!rm x' f",
    "rg --pre rm x", "rg --pre=rm x", "sort --compress-program=rm f", "split --filter='rm x' f", "zip -TT 'rm x' a b",
    "nix-shell --run 'rm x'", "direnv exec . rm x", "mise exec -- rm x", "conda run -n e rm x", "sudo strace rm x", "env npx rm x",
    "bash -c 'npx rm x'", "find . -exec strace rm {} +", "strace /bin/rm x",
)  # fmt: skip
OTHERS = (
    "git rm x", "git commit -m 'rm the old file'", "git log --grep='rm x'", "npm rm x", "npm run rm", "grep -r 'rm x' .", "echo rm x",
    "docker rm box", "kubectl delete pod", "sed -n 1p plain", "awk '{print $1}' plain", "uv add rm", "make form", "ssh host ls", "man ls",
    "python3 form.py", "tar -xf warm.tar", "less alarm", "npx prettier --write .",
)  # fmt: skip


@pytest.mark.parametrize("command", HIDDEN)
def test_what_another_program_would_run_is_never_run_unasked(command: str):
    for mode in MODES:
        assert outcome(bash(command), "deny Bash(rm:*)", mode=mode) != "Allow", mode
        assert outcome(bash(command), "ask Bash(rm:*)", "allow Bash", mode=mode) != "Allow", mode


@pytest.mark.parametrize("command", OTHERS)
def test_the_same_letters_in_other_words_are_no_reason_to_ask(command: str):
    assert outcome(bash(command), "deny Bash(rm:*)", mode="bypassPermissions") == "Allow"
