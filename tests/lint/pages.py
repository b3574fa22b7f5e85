#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages lead to what is there: each link of a page to a file or a heading, and each text of the log that
docs/guide/operations.md quotes to a string in the sources."""
import posixpath
import re

import lint

OPERATIONS = 'docs/guide/operations.md'
LINK = re.compile(r'\]\(([^)\s]+)\)')
# Made of the .proto files when the documents are built.
GENERATED = ('docs/reference/bootstrap.md',)
SOURCES = re.compile(r'^(?:src|federation|certs)/.*\.(?:c|cc|h)$')
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
# Shorter pieces of a text, between names and numbers, are anywhere.
LEAST = 8


def prose(text):
    """The text with neither fenced blocks nor code."""
    text = re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S)
    return re.sub(r'`[^`\n]*`', lambda code: code[0] if '](' not in code[0] else '', text)


def anchors(text):
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r'^#+ (.*)$', re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S), re.M)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-') for heading in headings}


def check_links(root, page):
    for link in LINK.findall(prose(lint.read(root, page))):
        target, _, anchor = link.partition('#')
        if re.match(r'\w+:', link):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
        if path in GENERATED:
            continue
        if not (root / path).exists():
            yield f'{page}: there is no {path}'
        elif anchor and path.endswith('.md') and anchor not in anchors(lint.read(root, path)):
            yield f'{page}: {path} has no heading #{anchor}'


def strings(root):
    """All strings of the sources; those side by side are one."""
    for path in lint.tracked(root):
        if SOURCES.match(path):
            text = re.sub(r'"\s*\n\s*"', '', lint.read(root, path))
            yield from (string.replace('\\"', '"') for string in STRING.findall(text))


def check_log(root):
    """The fourth column of the table of failures."""
    known = None
    for number, line in enumerate(lint.read(root, OPERATIONS).split('\n'), 1):
        columns = [column.strip() for column in line.split('|')]
        if not re.match(r'\| *\d+ *\|', line):
            continue
        known = known or '\n'.join(strings(root))
        for text in re.findall(r'`([^`]+)`', columns[4]):
            for piece in re.split('…|%', text):
                if len(piece.strip(' :;,\'')) >= LEAST and piece.strip(' :;,\'') not in known:
                    yield f'{OPERATIONS}:{number}: nothing logs "{piece.strip()}"'


def check(root, _arguments):
    for path in lint.tracked(root):
        if path.endswith('.md'):
            yield from check_links(root, path)
    if (root / OPERATIONS).is_file():
        yield from check_log(root)


def self_test():
    tree = {
        'src/a.c': 'log("source %s: it is not "\n    "there at all");\n',
    }
    row = '| 1 | it fails | nothing | `source …: it is not there at all` | `a b` |\n'
    with lint.tree({**tree, 'docs/b.md': '# A b, `c`\n[c](#a-b-c) [r](reference/bootstrap.md)\n'
                    '```\n# no\n[no](no)\n```\n', OPERATIONS: row + '[b](../b.md#a-b-c)\n'}) as root:
        lint.expect(check(root, None))
    with lint.tree({**tree, 'docs/b.md': '# A\n[c](#b) [d](d.md)\n',
                    OPERATIONS: row.replace('at all', 'at night')}) as root:
        lint.expect(check(root, None), 'b.md has no heading #b', 'there is no docs/d.md',
                    'operations.md:1: nothing logs ": it is not there at night"')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
