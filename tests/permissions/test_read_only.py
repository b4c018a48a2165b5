"""Only commands that are proven to read count as read-only: by their arguments, not by their name."""

import pytest

from ostinato.permissions.read_only import is_read_only_shell

READS = [
    "ls -la src", "ls *.py", "cat a b", "head -20 f", "head -n 20 f", "tail -n +5 f", "wc -l f", "grep -rn 'a;b' src", "grep -e x -- -f",
    "rg --hidden -g '*.py' x src", "rg --files", "find . -name '*.py' -type f", "find src -maxdepth 2 -not -path './x/*' -print0",
    "sort f", "sort -u -k 2,3 -- f", "uniq -c f", "cut -d: -f1 f", "tr a-z A-Z", "git status", "git status --short", "git --no-pager log -5 --oneline",
    "git diff HEAD~1 -- a.py", "git show HEAD:a.py", "git branch --list", "git branch -a", "git branch", "git branch --list 'x*'", "git tag -l 'v*'", "git rev-parse HEAD", "git ls-files",
    "git blame -L 1,5 a.py", "git remote -v", "pwd", "echo hi $HOME", "printf '%s\\n' a", "true", "false", "sleep 0.5; echo 1", "date +%s", "date -u -d tomorrow", "which ls", "type ls",
    "test -f x", "[ -d x ]", "stat f", "file f", "du -sh .", "df -h", "basename /a/b", "dirname /a/b", "realpath f", "readlink -f f", "sha256sum f",
    "diff -u a b", "cmp a b", "comm -12 a b", "nl f", "tac f", "timeout 5 ls", "command -v ls", "nice ls | head -5", "cat f 2>/dev/null",
    "cat < f 2>&1", "cat <<EOF\nx\nEOF", "ls && echo a; wc -l < f", "echo $(git rev-parse HEAD)", "LC_ALL=C sort f", "n=$(wc -l f); echo $n",
    "if [ -f x ]; then cat x; fi", "find . -name x | xargs echo", "cat ./*",
]  # fmt: skip
WRITES_OR_RUNS = [
    "find . -delete", "find . -exec cat {} +", "find . -ok x", "find . -fprint f", "find . -fls f", "find . -fprintf f x", "find -L .", "find * -name x",
    "find . -execdir x", "sort -o f g", "sort -uo f g", "sort --output=f g", "sort --outp=f g", "sort --compress-program=x f", "sort f -o f", "sort -T d f", "sort *", "uniq a b", "uniq -- a b",
    "git branch -D x", "git branch x", "git branch -m a b", "git branch --list x -D", "git remote set-url a b", "git remote add a b", "git tag -d x", "git tag x", "git tag -a -m x y",
    "git -c alias.x='!t' x", "git -C d status", "git --git-dir=x status", "git --exec-path=x status", "git diff --output=f", "git diff --outp=f", "git log --output=f", "git diff --ext-diff",
    "git show --textconv x", "git show --show-signature", "git log --format=%G?", "git diff /etc/passwd /dev/null", "git diff --no-index a b", "git log ../../x",
    "git status $x", "git grep -O x", "git reflog expire", "git stash", "git fetch --upload-pack=x", "git config x y", "git ls-files $(x)", "git diff -Of", "git",
    "file -C -m x", "file -z f", "rg --pre x y", "rg --pre=x y", "rg -z x", "rg -L x", "rg * x", "rg --hostname-bin=x y", "grep -R x .", "grep -f f x",
    "tail -f x", "wc --files0-from=f", "date -s x", "date 010101", "diff -l a b", "diff -r a b", "tree -o f", "hostname x", "printf -v x y", "sed -n p f", "awk x f",
    "env", "python -c 'x'", "python x.py", "bash -c ls", "xargs cat", "xargs rm", "tee f", "cp a b", "rm x", "curl x", "ls > f", "ls >> f", "ls >| f", "ls &> f", "ls >&f", "cat <> f", "echo x > $f",
    "cat $f", "cat < $f", "wc -l \"$f\"", "X=1 ls", "PATH=. ls", "PATH=.", "LD_PRELOAD=x ls", "nohup ls", "sudo ls", "ls | x", "ls & x", "echo $(x)", "echo `x`", "cat <(x)",
    "[ $x ]", "test -v x", "timeout 5 x", "$x", "", "# x", "ls '", "command x", "./ls", "ls --unknown", "head --lines f -x", "od -w f", "git diff --word-diff-regex --output=x",
]  # fmt: skip


@pytest.mark.parametrize("text", READS)
def test_plain_reading_is_proven(text: str) -> None:
    assert is_read_only_shell(text)


@pytest.mark.parametrize("text", WRITES_OR_RUNS)
def test_what_may_write_or_run_or_is_unknown_is_not(text: str) -> None:
    assert not is_read_only_shell(text)
