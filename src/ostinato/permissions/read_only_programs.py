"""The table of programs that only read, each with the options under which that is so.

Left out on purpose: options that name another input list (`--files0-from`, `-f`), follow links out of a tree
(`grep -R`, `diff -r`, `rg -L`), wait for ever (`tail -f`), or start a helper (`rg --pre`, `sort --compress-program`,
`diff -l`, `file -z`).
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from ostinato.permissions.name_set import names
from ostinato.permissions.option_grammar import Form, form

_GREP = Form(
    "EFGPivwxclLqsoHhnbUzZraT",
    "eABCmd",
    names(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp"
        " line-regexp count files-with-matches files-without-match quiet silent no-messages only-matching"
        " with-filename no-filename line-number byte-offset null text recursive initial-tab color colour"
    ),
    names(
        "regexp after-context before-context context max-count include exclude exclude-dir directories"
        " binary-files label"
    ),
    operands="pattern_then_paths",
    has_numeric=True,
    is_harmless=True,
    pattern_options=frozenset({"e", "regexp"}),
)
_RIPGREP = Form(
    "ivwxclnNqsoHIUFSPahp.u0",
    "eABCmgtTjMEdr",
    names(
        "ignore-case invert-match word-regexp line-regexp count count-matches files-with-matches files-without-match"
        " line-number no-line-number quiet no-messages only-matching with-filename no-filename multiline"
        " multiline-dotall fixed-strings smart-case case-sensitive pcre2 text hidden no-ignore no-ignore-vcs no-heading"
        " heading column vimgrep json stats trim null files type-list no-config pretty unrestricted one-file-system"
    ),
    names(
        "regexp after-context before-context context max-count glob iglob type type-not threads max-columns"
        " max-depth max-filesize color sort sortr replace encoding colors"
    ),
    operands="pattern_then_paths",
    pattern_options=frozenset({"e", "regexp", "files", "type-list"}),
)
_CHECKSUM = form("bt", "", "binary text tag zero")
_TEXT_ONLY = Form(operands="text")
_NONE = Form(operands="none")

FORMS: Mapping[str, Form] = MappingProxyType({
    "ls": replace(
        form(
            "aAlhtrR1SFdGgonpisXUkmxCcuQqNvBbfZ",
            "Iw",
            "all almost-all human-readable recursive reverse size directory classify inode full-time group-directories-first"
            " no-group numeric-uid-gid si zero author escape literal quote-name color hyperlink file-type",
            "sort time time-style format indicator-style ignore hide width block-size quoting-style",
        ),
        is_harmless=True,
    ),
    "cat": replace(
        form("AbeEnstTuv", "", "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"),
        is_harmless=True,
    ),
    "head": replace(
        form("qvz", "nc", "quiet silent verbose zero-terminated", "lines bytes"), has_numeric=True, is_harmless=True
    ),
    "tail": replace(
        form("qvzr", "nc", "quiet silent verbose zero-terminated", "lines bytes"), has_numeric=True, is_harmless=True
    ),
    "wc": replace(form("clmwL", "", "bytes chars lines words max-line-length", "total"), is_harmless=True),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RIPGREP,
    "sort": form(
        "bdfgiMhnRrVcCmsuz",
        "ktS",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort"
        " human-numeric-sort numeric-sort random-sort reverse version-sort check merge stable unique zero-terminated debug",
        "key field-separator sort buffer-size parallel",
    ),
    "uniq": replace(
        form(
            "cdDiuz",
            "fsw",
            "count repeated all-repeated ignore-case unique zero-terminated group",
            "skip-fields skip-chars check-chars",
        ),
        max_operands=1,
    ),
    "cut": replace(
        form(
            "nsz",
            "bcdf",
            "only-delimited zero-terminated complement",
            "bytes characters delimiter fields output-delimiter",
        ),
        is_harmless=True,
    ),
    "tr": Form("cCdst", "", names("complement delete squeeze-repeats truncate-set1"), operands="text"),
    "nl": replace(form("p", "bdfhilnsvw"), is_harmless=True),
    "tac": replace(form("br", "s", "before regex", "separator"), is_harmless=True),
    "rev": replace(form(), is_harmless=True),
    "fold": replace(form("bs", "w", "bytes spaces", "width"), is_harmless=True),
    "od": replace(form("abcdfiloxv", "AjNt"), is_harmless=True),
    "paste": replace(form("sz", "d", "serial zero-terminated", "delimiters"), is_harmless=True),
    "column": form("tx", "sNoc", "table fillrows", "separator output-separator columns table-columns"),
    "stat": replace(form("Lft", "c", "dereference file-system terse", "format printf"), is_harmless=True),
    "file": form("bhikLsE0", "F", "brief mime mime-type mime-encoding keep-going dereference no-dereference", "separator"),
    "du": replace(
        form(
            "abcDHhklmSsx0",
            "dtB",
            "all apparent-size bytes total human-readable separate-dirs summarize one-file-system null si",
            "max-depth threshold block-size exclude time-style",
        ),
        is_harmless=True,
    ),
    "df": replace(form("ahHiklPT", "tx", "all human-readable si inodes local portability print-type total"), is_harmless=True),
    "basename": Form("az", "s", names("multiple zero"), names("suffix"), operands="text"),
    "dirname": Form("z", "", names("zero"), operands="text"),
    "realpath": replace(form("eLPqsmz", "", "canonicalize-existing quiet strip zero", "relative-to"), is_harmless=True),
    "readlink": replace(form("femnqsvz", "", "canonicalize no-newline quiet zero"), is_harmless=True),
    "sha256sum": _CHECKSUM,
    "sha1sum": _CHECKSUM,
    "sha512sum": _CHECKSUM,
    "md5sum": _CHECKSUM,
    "cksum": form(),
    "diff": form(
        "qsuNaiwbBEZtTcdyep",
        "UCIxW",
        "brief report-identical-files unified new-file text ignore-case ignore-all-space ignore-space-change"
        " ignore-blank-lines side-by-side minimal color suppress-common-lines context strip-trailing-cr no-dereference",
        "ignore-matching-lines exclude width label",
    ),
    "cmp": form("bls", "in", "print-bytes verbose silent quiet", "ignore-initial bytes"),
    "comm": form("123z", "", "check-order nocheck-order total zero-terminated", "output-delimiter"),
    "date": Form("uRI", "d", names("utc universal rfc-email iso-8601"), names("date rfc-3339"), operands="text"),
    "pwd": Form("LP", operands="none"),
    "which": Form("as", "", names("all"), operands="text"),
    "type": Form("afptP", operands="text"),
    "true": _TEXT_ONLY,
    "false": _TEXT_ONLY,
    ":": _TEXT_ONLY,
    "sleep": Form("", operands="text"),  # waits, and touches nothing
    "seq": Form("w", "sf", names("equal-width"), names("separator format"), operands="text"),
    "whoami": _NONE,
    "id": Form("ugGnrz", "", names("user group groups name real"), operands="text"),
    "uname": Form("asnrvmpio", "", names("all kernel-name nodename machine"), operands="none"),
    "hostname": Form("fisIdA", operands="none"),
    "nproc": Form("", "", names("all"), operands="none"),
    "arch": _NONE,
    "uptime": Form("ps", "", names("pretty since"), operands="none"),
    "tty": Form("s", operands="none"),
})  # fmt: skip
