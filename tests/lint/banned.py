#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must not be in our files: unsafe functions, // comments and tabs in C, blanks at the end of a
line, files without a licence line, and words that promise to finish something later."""
import re

import lint

FUNCTIONS = re.compile(
    r'(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|strtok|atoi|gets|rand|system|alloca)\s*\(')
# Written so that this file does not contain them.
WORDS = re.compile(r'\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b')
SPDX = 'SPDX-License-Identifier: Apache-2.0'


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def check_c(path, text):
    stripped, slashes = lint.blank(text)
    for match in FUNCTIONS.finditer(stripped):
        yield f'{path}:{line_of(text, match.start())}: {match.group(1)}() is banned'
    for line in slashes:
        yield f'{path}:{line}: a // comment'
    for number, line in enumerate(text.split('\n'), 1):
        if '\t' in line:
            yield f'{path}:{number}: a tab'


def licence_lines(path, text):
    """The lines, one of which must be the licence line; None if the file needs none."""
    lines = text.split('\n')
    if path.endswith(lint.C_SUFFIXES):
        return [f'/* {SPDX} */'], lines[:1]
    if path.endswith('.proto'):
        return [f'// {SPDX}'], lines[:1]
    if path.endswith('.py') or text.startswith('#!'):
        return [f'# {SPDX}'], lines[:2]
    return None


def check_text(path, text):
    for number, line in enumerate(text.split('\n'), 1):
        if re.search(r'[ \t\r]$', line):
            yield f'{path}:{number}: blanks at the end of the line'
        for word in WORDS.findall(line):
            yield f'{path}:{number}: {word}: do it, or say in an issue what is missing'
    if text and not text.endswith('\n'):
        yield f'{path}: no line end at the end of the file'
    licence = licence_lines(path, text)
    if licence and not any(line in licence[0] for line in licence[1]):
        yield f'{path}: must begin with {licence[0][0]}'


def check(root, _arguments):
    for path in lint.tracked(root):
        text = lint.read(root, path)
        if text is None or path == 'LICENSE' or path.startswith('tests/data/'):
            continue
        yield from check_text(path, text)
        if path.endswith(lint.C_SUFFIXES) and not lint.GENERATED.search(path):
            yield from check_c(path, text)


def self_test():
    spdx = f'/* {SPDX} */\n'
    good = {
        'a.c': spdx + '/* strcpy() // */\nint x = rand_r(1) + my_gets(2) + p->system(3);\n'
               'char c = \'"\', *s = "// sprintf(x)";\n',
        'b.cc': spdx + 'auto s = R"(// strcat(a, b))"; int n = 1\'000;\n',
        'c.proto': f'// {SPDX}\n// fine here\n',
        'd.py': f'#!/usr/bin/env python3\n# {SPDX}\n',
        'README.md': 'Text.\n',
        'tests/data/x': 'raw \n',
    }
    with lint.tree(good) as root:
        lint.expect(check(root, None))
    calls = ''.join(f'    {name} (a);\n' for name in
                    'strcpy strcat sprintf strtok atoi gets rand system alloca'.split())
    todo = 'TO' + 'DO'
    bad = {
        'a.c': spdx + calls,
        'b.h': 'int x; // why\n',
        'c.c': spdx + f'\tint x; \n/* {todo}: later */\n',
        'd.proto': 'syntax = "proto3";\n',
        'e': '#!/bin/sh\necho\n',
        'f.md': 'no end',
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, None), *[rf'a.c:\d+: {name}\(\)' for name in
                                         'strcpy strcat sprintf strtok atoi gets rand system '
                                         'alloca'.split()],
                    'b.h:1: a // comment', 'b.h: must begin', 'c.c:2: a tab', 'c.c:2: blanks',
                    f'c.c:3: {todo}', 'd.proto: must begin', 'e: must begin', 'f.md: no line end')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
