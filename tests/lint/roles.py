#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A header or the source of the same name begins, behind the licence line, with a comment of 1 to 8 lines on its
role: one of them is enough. What is longer goes into a second comment."""
import collections
import posixpath
import re

import lint

MOST = 8
LICENCE = re.compile(r'/\* SPDX-License-Identifier: [^\n]*\*/\n')
COMMENT = re.compile(r'\s*(/\*.*?\*/)', re.DOTALL)


def lines_of_role(text):
    """How many lines the comment behind the licence has; 0: there is none."""
    licence = LICENCE.match(text)
    comment = COMMENT.match(text, licence.end()) if licence else None
    if not comment or not re.search(r'\w', comment[1].replace('@file', '')):
        return 0
    return comment[1].count('\n') + 1


def check(root, _arguments):
    pairs = collections.defaultdict(dict)
    for path in lint.code(root):
        pairs[posixpath.splitext(path)[0]][path] = lines_of_role(lint.read(root, path) or '')
    for files in pairs.values():
        if not any(1 <= n <= MOST for n in files.values()):
            longest = max(files.values())
            what = f'has {longest} lines on its role, more than {MOST}' if longest else 'has no comment on its role'
            yield f'{", ".join(sorted(files))}: {what}'


LINE = '/* SPDX-License-Identifier: Apache-2.0 */\n'


def self_test():
    good = {
        'a.h': LINE + '/* A role. */\n', 'a.c': LINE + '#include "a.h"\n',
        'b.c': LINE + '\n/* A role,\n' + ' * and so on,\n' * 6 + ' * to its end. */\n',
        'c.h': LINE + 'int c;\n', 'c.cc': LINE + '/**\n * @file c.cc\n * A role.\n */\n',
        'd.pb-c.h': 'generated',
    }
    with lint.tree(good) as root:
        lint.expect(check(root, None))
    bad = {
        'a.h': LINE + 'int a; /* a role */\n', 'a.c': LINE + '#include "a.h"\n/* A role. */\n',
        'b.c': LINE + '/* A role,\n' + ' * and so on,\n' * 7 + ' * to its end. */\n',
        'c.c': '/* A role. */\n', 'x/a.c': LINE,
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, None), r'^a\.c, a\.h: has no comment', r'^b\.c: has 9 lines', r'^c\.c: has no',
                    r'^x/a\.c: has no')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
