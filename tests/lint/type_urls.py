#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The URL of a type that src/model/types.h names is written nowhere else: what a type is stands in
one table. In the middle of a longer text, such as an example in an error message, it may be."""
import re

import lint

TABLE = 'src/model/types.h'
FOLDERS = ('src/', 'federation/', 'certs/', 'tools/')
ROW = re.compile(r'#define (UDPAI_TYPE_\w+) UDPAI_TYPE_PREFIX\s+"([\w.]+)"')
# Pieces that the compiler puts together, one behind the other.
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"(?:[\s\\]*"(?:\\.|[^"\\\n])*")*')
COMMENT = re.compile(r'/\*.*?\*/', re.DOTALL)


def texts(code):
    """The string literals of a file, as (line, text)."""
    code = COMMENT.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), code)
    for match in TEXT.finditer(code):
        yield (code.count('\n', 0, match.start()) + 1,
               re.sub(r'(?<!\\)"[\s\\]*"', '', match.group())[1:-1])


def check(root, _arguments):
    table = root / TABLE
    macros = {name: macro for macro, name in ROW.findall(table.read_text().replace('\\\n', ''))}
    if not macros:
        yield f'{TABLE}: names no types'
    for path in lint.code(root):
        if path == TABLE or not path.startswith(FOLDERS):
            continue
        for line, text in texts(lint.read(root, path)):
            macro = macros.get(text.rsplit('/', 1)[-1]) if ' ' not in text else None
            if macro:
                yield f'{path}:{line}: "{text}" is {macro} of {TABLE}'


def self_test():
    table = ('#define UDPAI_TYPE_PREFIX "type.example/"\n'
             '#define UDPAI_TYPE_A UDPAI_TYPE_PREFIX "acme.v1.A"\n'
             '#define UDPAI_TYPE_LONG UDPAI_TYPE_PREFIX \\\n    "acme.v1.Long"\n')
    with lint.tree({
            TABLE: table,
            'src/a.c': '/* "acme.v1.A" */\nf("such as "\n  "acme.v1.A");\nf("acme.v1.AB");\n'
                       'f("\\"acme.v1.A\\" is one");\n',
            'tests/a.c': 'f("acme.v1.A");\n'}) as root:
        lint.expect(check(root, None))
    with lint.tree({
            TABLE: table,
            'src/a.c': 'f("x");\nf("acme.v1.A");\n',
            'src/b.cc': 'f(PREFIX "acme.v1.Long");\n',
            'federation/c.h': '#define C "type.example/" \\\n  "acme.v1.A"\n',
            'certs/d.c': 'f("/acme.v1.A");\n'}) as root:
        lint.expect(check(root, None), 'src/a.c:2: .*UDPAI_TYPE_A', 'src/b.cc:1: .*UDPAI_TYPE_LONG',
                    'certs/d.c:1', 'federation/c.h:1')
    with lint.tree({TABLE: '\n'}) as root:
        lint.expect(check(root, None), 'names no types')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
