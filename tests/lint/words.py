#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users read has the words of the field: of 10,000 words of README.md, guides, reference, man pages and help
at most MOST are private ones, which a reader of Envoy's documents would have to guess. Code, quoted output and
the names of keys are not looked at. The strings of the sources, which become messages and logs, have none of the
clearest of these words."""
import re

import lint

MOST = 4
# What not to write, and what instead.
PRIVATE = {
    r'told|tells?|telling': 'sent, reported, notified, logged',
    r'heard|hears?|hearing': 'received, read',
    r'say|says|said|saying': 'report, state, specify, contain; of a person: write',
    r'speaks? (?:of|for)|spoken (?:of|for)|spoke (?:of|for)': 'state, claim, publish, describe',
    r'wish|wishes|wished': 'subscription, demand',
    r'aim|aims|aimed': 'route to, recipients',
    r'stand(?:s|ing)? in|stood in|stand-ins?': 'standby, fail over',
    r'hand(?:s|ed)? back|hand-backs?': 'fail back',
    r'heeded|heeds?': 'ignored (of the contrary)',
    r'mended|mends?': 'fixed',
    r'mistakes?': 'error, invalid',
    r'vouch(?:es|ed)?': 'signed by, trusted by',
    r'whoever|whom|whatever': 'the client, the node, every',
    r'(?:some|any|no|every)body': 'a client, no node, every peer',
    r'he|his|him': 'it, its',
    r'(?:un)?settled': 'synchronized, pending',
    r'goes by|go by|going by': 'uses, depends on',
    r'(?:does not|do not) count|counts again|whose word': 'is shadowed, is effective, is active',
    r'amiss': 'wrong: say what',
}
# Not in any string, except after a hyphen, as in names such as load-told.
CLEAREST = (r'told|tells?', r'heard|hears?', r'heeded|heeds?', r'vouch(?:es|ed)?', r'speaks? (?:of|for)',
            r'does not count', r'(?:some|any|no|every)body', r'whoever|whom')
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


def prose_of_page(text):
    """Lines with the same numbers, without code."""
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith('```'):
            inside, line = not inside, ''
        yield '' if inside or line.startswith('    ') else re.sub(r'`[^`]*`|\]\([^)]*\)|"[^"]*"', ' ', line)


def prose_of_manual(text):
    inside = False
    for line in text.splitlines():
        if line.startswith(('.nf', '.EX')):
            inside = True
        if line.startswith(('.fi', '.EE')):
            inside = False
        is_code = inside or re.match(r'\.(?:\\"|TH|SH|SS|B|BR|I|IR|RB|RI)\b', line)
        yield '' if is_code else re.sub(r'\\f[BI][^\\]*\\f[RP]|\\\(lq.*?\\\(rq|"[^"]*"|^\.\S+', ' ', line)


def prose_of_help(text):
    """What stands in strings."""
    for line in text.splitlines():
        is_code = line.startswith('#') or line.lstrip().startswith(('/*', '*'))
        yield '' if is_code else ' '.join(re.findall(r'"([^"]*)"', line))


READERS = {
    re.compile(r'^(README|docs/(guide|examples|reference)/.*)\.md$'): prose_of_page,
    re.compile(r'^docs/man/.*\.[1-8]$'): prose_of_manual,
    re.compile(r'^(?:src/(?:cli|ctl|daemon)|tools/\w+)/(help|tool_\w+|options|\w+_options)\.c$'): prose_of_help,
}

MESSAGES = re.compile(r'^(?:src|federation|certs)/.*\.c$')


def private_in_message(path, text):
    for number, line in enumerate(prose_of_help(text), start=1):
        for words in CLEAREST:
            for match in re.finditer(rf'(?<![\w-])(?:{words})\b', line, re.I):
                yield f'{path}:{number}: "{match[0]}" in a message: write it in the words of the field'


def check(root, _arguments):
    found, n_words = [], 0
    for path in lint.tracked(root):
        prose_of = next((read for files, read in READERS.items() if files.match(path)), None)
        if not prose_of:
            if MESSAGES.match(path):
                yield from private_in_message(path, (root / path).read_text(encoding='utf-8'))
            continue
        prose = prose_of((root / path).read_text(encoding='utf-8'))
        for number, line in enumerate(prose, start=1):
            n_words += len(WORD.findall(line))
            for words, better in PRIVATE.items():
                found += [f'{path}:{number}: "{match[0]}": write: {better}'
                          for match in re.finditer(rf'\b(?:{words})\b', line, re.I)]
    if len(found) * 10000 > MOST * n_words:
        yield from found
        yield f'{len(found)} private words of {n_words}: more than {MOST} of 10,000'


def self_test():
    plain = 'The node sends each client what it has subscribed to.\n' * 100
    with lint.tree({'README.md': plain, 'docs/design/a.md': 'told\n'}) as root:
        lint.expect(check(root, None))
    with lint.tree({'README.md': plain + '`told` "told" [x](told)\n\n    told\n\n```\ntold\n```\n'}) as root:
        lint.expect(check(root, None))
    with lint.tree({'README.md': plain + 'It is told\n', 'docs/man/a.1': '.nf\ntold\n.fi\nIt says \\fBtold\\fR\n'}) as root:
        lint.expect(check(root, None), 'README.md:101: "told"', 'a.1:4: "says"', '^2 private words')
    with lint.tree({'README.md': plain, 'src/ctl/options.c': 'int told;\nx("is told");\n'}) as root:
        lint.expect(check(root, None), 'options.c:2: "told"', '^1 private words')
    with lint.tree({'src/daemon/a.c': 'x("load-told", "received");\n/* "told" */\n'}) as root:
        lint.expect(check(root, None))
    with lint.tree({'federation/a.c': 'int told;\nx("%s is told", "it does not count");\n'}) as root:
        lint.expect(check(root, None), 'a.c:2: "told"', 'a.c:2: "does not count"')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
