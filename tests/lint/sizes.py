#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes: functions, parameters, files. Exceptions stand in sizes-exceptions.txt, with a reason each."""
import json
import shutil
import statistics
import subprocess

import lint

FUNCTION_LINES = 70
FUNCTION_MEDIAN = 15
FUNCTION_P90 = 40
FILE_LINES = 700
HEADER_LINES = 400
PARAMETERS = 6

EXCEPTIONS = 'tests/lint/sizes-exceptions.txt'
OURS = ('src/', 'certs/', 'federation/', 'tools/', 'include/')  # what the median counts: no tests, no examples
MACROS = 'UDPA_API,UDPA_MUST_USE,UDPA_PRINTF+,UDPA_AUTO+,UDPA_DEFINE_CLEANUP+'


def ctags():
    name = shutil.which('ctags')
    if not name or 'Universal' not in subprocess.run(
            [name, '--version'], capture_output=True, text=True, check=False).stdout:
        raise lint.Skip('universal-ctags is not installed')
    return name


def functions(root, paths):
    """(path, name, lines, parameters) of each function definition."""
    output = subprocess.run(
        [ctags(), '--output-format=json', '--fields=+neS', '--kinds-C=f', '--kinds-C++=f',
         '--langmap=C:.c.h', '--langmap=C++:.cc.hh', '-I', MACROS, '-L', '-', '-f', '-'],
        cwd=root, input='\n'.join(paths), capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        tag = json.loads(line)
        if tag.get('_type') == 'tag' and 'end' in tag:
            yield (tag['path'], tag['name'], tag['end'] - tag['line'] + 1,
                   count_parameters(tag.get('signature', '')))


def count_parameters(signature):
    """Of "(int a, void (*fn)(int, int), ...)": commas outside inner brackets; "..." is none."""
    inside = signature.strip()[1:-1].strip()
    if inside in ('', 'void'):
        return 0
    depth, parts = 0, ['']
    for character in inside:
        depth += (character in '([{<') - (character in ')]}>')
        if character == ',' and depth == 0:
            parts.append('')
        else:
            parts[-1] += character
    return sum(part.strip() != '...' for part in parts)


def exceptions(root):
    """{(path, what): reason}; a line is "path what: reason", what is a function or "file"."""
    path = root / EXCEPTIONS
    found = {}
    for line in path.read_text(encoding='utf-8').splitlines() if path.exists() else []:
        if line and not line.startswith('#'):
            head, _, reason = line.partition(': ')
            if len(head.split()) != 2 or len(reason.split()) < 3:
                raise SystemExit(f'{EXCEPTIONS}: "{line}" is not "path what: reason"')
            found[tuple(head.split())] = reason
    return found


def oversized(root, paths, measured):
    """(path, what, finding) of everything above a hard limit."""
    for path in paths:
        lines = (lint.read(root, path) or '').count('\n')
        limit = HEADER_LINES if path.endswith(lint.HEADER_SUFFIXES) else FILE_LINES
        if lines > limit:
            yield path, 'file', f'{path}: {lines} lines, more than {limit}'
    for path, name, lines, parameters in measured:
        if lines > FUNCTION_LINES:
            yield path, name, f'{path}: {name}() has {lines} lines, more than {FUNCTION_LINES}'
        if parameters > PARAMETERS:
            yield path, name, f'{path}: {name}() has {parameters} parameters, more than {PARAMETERS}'


def unseen(root, paths, measured):
    """Functions that ctags misses would escape: each begins with a { in the first column."""
    seen = [path for path, *_ in measured]
    for path in paths:
        begun = f'\n{lint.read(root, path) or ""}'.count('\n{\n') if path.endswith('.c') else 0
        if begun > seen.count(path):
            yield f'{path}: {begun} functions, but ctags sees only {seen.count(path)}'


def distribution(measured):
    lines = sorted(lines for path, _, lines, _ in measured if path.startswith(OURS))
    if len(lines) < 2:
        return
    median, p90 = statistics.median(lines), statistics.quantiles(lines, n=10)[8]
    print(f'{len(lines)} functions: median {median:g}, p90 {p90:g}, longest {lines[-1]}')
    if median > FUNCTION_MEDIAN:
        yield f'functions have a median of {median:g} lines, more than {FUNCTION_MEDIAN}'
    if p90 > FUNCTION_P90:
        yield f'functions have a 90th percentile of {p90:g} lines, more than {FUNCTION_P90}'


def check(root, _arguments):
    paths = lint.code(root)
    measured = list(functions(root, paths))
    excepted, used = exceptions(root), set()
    for path, what, finding in oversized(root, paths, measured):
        if (path, what) in excepted:
            used.add((path, what))
        else:
            yield finding
    for path, what in sorted(set(excepted) - used):
        yield f'{EXCEPTIONS}: {path} {what} needs no exception any more'
    yield from unseen(root, paths, measured)
    yield from distribution(measured)


def function_of(name, lines, parameters='void'):
    return f'int\n{name}({parameters})\n{{\n' + '    ;\n' * (lines - 3) + '}\n'


def self_test():
    six = ', '.join(f'int p{i}' for i in range(6))
    good = {
        'src/a/a.c': function_of('longest', FUNCTION_LINES, six + ', ...')
                     + ''.join(function_of(f'f{i}', 5) for i in range(40)),
        'src/a/a.h': '\n' * HEADER_LINES,
        'src/a/b.c': '\n' * FILE_LINES,
        'src/a/g.pb-c.c': '\n' * 5000,
        'src/a/excepted.c': function_of('big', 80),
        EXCEPTIONS: '# why\nsrc/a/excepted.c big: a table of bytes\n',
    }
    with lint.tree(good) as root:
        lint.expect(check(root, None))
    bad = {
        'src/a/a.c': function_of('too_long', FUNCTION_LINES + 1)
                     + function_of('greedy', 20, six + ', void (*fn)(int, int)')
                     + function_of('middle', 20),
        'src/a/a.h': '\n' * (HEADER_LINES + 1),
        'tests/b.c': '\n' * (FILE_LINES + 1),
        'tests/c.c': '#if 0\nint\nhidden(void)\n{\n}\n#endif\n',
        EXCEPTIONS: 'src/a/a.c middle: it is not long\n',
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, None), r'too_long\(\) has 71 lines', r'greedy\(\) has 7 param',
                    r'a\.h: 401 lines', r'b\.c: 701 lines', 'middle needs no exception',
                    r'c\.c: 1 functions, but', 'a median of 20', '90th percentile of')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
