#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/guide/operating.md quotes as logged, and troubleshooting.md as printed, is a string in the sources."""
import re

import lint

OPERATIONS = 'docs/guide/operating.md'
TROUBLESHOOTING = 'docs/guide/troubleshooting.md'
# What Envoy, gRPC and libraries say.
FOREIGN = ('malformed IP address', 'ApiListener', 'registered implementation', 'Handshake failed',
           'weighted_target', 'no localities', 'Connection refused', 'Address already in use', 'file is not a database')
SOURCES = re.compile(r'^(?:src|federation|certs)/.*\.(?:c|cc|h)$')
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
# Shorter pieces of a text, between names and numbers, are anywhere.
LEAST = 8


def strings(root):
    """All strings of the sources; those side by side are one."""
    for path in lint.tracked(root):
        if SOURCES.match(path):
            text = re.sub(r'"\s*\n\s*"', '', lint.read(root, path))
            yield from (string.replace('\\"', '"') for string in STRING.findall(text))


def quoted_in_operations(text):
    """The fourth column of the table of failures: what is logged."""
    for number, line in enumerate(text.split('\n'), 1):
        if re.match(r'\| *\d+ *\|', line):
            yield from ((number, quote) for quote in re.findall(r'`([^`]+)`', line.split('|')[4]))


def quoted_in_troubleshooting(text):
    """Code of four words or more that is no command."""
    for number, line in enumerate(text.split('\n'), 1):
        for quote in re.findall(r'`([^`]+)`', line):
            if len(quote.split()) >= 4 and not quote.startswith(('udpactl ', 'udpad ')):
                yield number, quote


def check(root, _arguments):
    """Each piece of a quoted text, between what stands for names and numbers, is in a string."""
    known = None
    for page, quotes_of in ((OPERATIONS, quoted_in_operations), (TROUBLESHOOTING, quoted_in_troubleshooting)):
        text = lint.read(root, page) if (root / page).is_file() else ''
        for number, quote in quotes_of(text):
            known = known or '\n'.join(strings(root))
            for piece in re.split(r"…|'[^']*'|\S*\d\S*", quote):
                piece = piece.strip(" :;,'()")
                if len(piece) >= LEAST and piece not in known and not any(one in piece for one in FOREIGN):
                    yield f'{page}:{number}: nothing prints "{piece}"'


def self_test():
    tree = {
        'src/a.c': 'log("source %s: it is not "\n    "there at all");\n',
    }
    row = '| 1 | it fails | nothing | `source …: it is not there at all` | `a b` |\n'
    with lint.tree({**tree, OPERATIONS: row}) as root:
        lint.expect(check(root, None))
    with lint.tree({**tree, OPERATIONS: row.replace('at all', 'at night'),
                    TROUBLESHOOTING: "`udpactl get all of it` `it is 'x' nowhere to be seen`\n"}) as root:
        lint.expect(check(root, None), 'operating.md:1: nothing prints "it is not there at night"',
                    'troubleshooting.md:1: nothing prints "nowhere to be seen"')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
