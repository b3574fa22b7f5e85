#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/pitfalls.md, and of failures in docs/guide/operating.md: every row names a test, rows are
numbered without gaps, and each test that is named exists and is run."""
import re

import lint

PAGES = ('docs/pitfalls.md', 'docs/guide/operating.md')
ROW = re.compile(r'^\| *(\d+) *\|')
# `suite name`, and behind a colon a case or function of it.
REFERENCE = re.compile(r'`([a-z]+) ([a-z0-9_]+)(?:: (\w+))?`')
IN_PYTHON = ('interop', 'product')


def place(suite, name):
    """The file of a test, as meson calls it."""
    if suite in IN_PYTHON:
        return f'tests/{suite}/test_{name}.py'
    return f'tests/unit/{suite}/test_{name}.c'


def is_run(path, text, case):
    """Of a C file, is the case in its list? Of a Python file, is there such a function?"""
    if path.endswith('.py'):
        return re.search(rf'^\s*def {case}\(', text, re.M) and \
            len(re.findall(rf'\b{case}\(', text)) > 1
    return re.search(rf'\b[A-Za-z_]+\({case}[,)]', text)


def check_references(root, where, row):
    references = REFERENCE.findall(row)
    if not references:
        yield f'{where}: names no test'
    for suite, name, case in references:
        path = place(suite, name)
        if not (root / path).is_file():
            yield f'{where}: there is no {path}'
        elif case and not is_run(path, lint.read(root, path), case):
            yield f'{where}: {path} runs no {case}'


def check(root, _arguments):
    for page in PAGES:
        if (root / page).is_file():
            yield from check_page(root, page)


def check_page(root, page):
    expected = 1
    for number, line in enumerate(lint.read(root, page).split('\n'), 1):
        row = ROW.match(line)
        if not row:
            continue
        if row.group(1) == '1':
            expected = 1  # another table
        if int(row.group(1)) != expected:
            yield f'{page}:{number}: row {row.group(1)} where {expected} should be'
        expected += 1
        # The last column: others may have code in them, too.
        yield from check_references(root, f'{page}:{number}', line.rstrip(' |').split(' | ')[-1])


def self_test():
    tree = {
        'tests/unit/xds/test_a.c': 'static void\nlisted(void **state)\n\nTEST(listed),\n'
                                   'static void\nforgotten(void **state)\n',
        'tests/unit/transport/test_grpc_b.c': 'cmocka_unit_test(b, x),\n',
        'tests/interop/test_c.py': 'def used():\n    pass\n\n\ndef idle():\n    pass\n\n\nused()\n',
    }
    good = ('| # | a | b |\n|---|---|---|\n| 1 | x | `xds a: listed` `transport grpc_b: b` |\n'
            '| 2 | `foo bar` | `interop c: used` `interop c` |\n\n| 1 | x | `xds a` |\n')
    with lint.tree({**tree, PAGES[1]: good}) as root:
        lint.expect(check(root, None))
    bad = ('| 1 | x | none |\n| 2 | x | `xds a: forgotten` |\n| 4 | x | `xds a: nowhere` |\n'
           '| 4 | x | `xds z` |\n| 5 | `xds a` | `interop c: idle` |\n')
    with lint.tree({**tree, PAGES[0]: bad}) as root:
        lint.expect(check(root, None), 'md:1: names no', 'md:2: .* runs no forgotten',
                    'md:3: row 4 where 3', 'md:3: .* runs no nowhere',
                    'md:4: there is no tests/unit/xds/test_z.c', 'md:5: .* runs no idle')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
