#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public functions: each declaration with UDPA_API in include/udpa/ has a doc block that says what
it returns, on which thread it may be called and since when; libudpa.sym exports exactly these.

With --tests, a test must call each; with --man, a manual page must name each. With --write,
libudpa.sym is written anew from the headers.
"""
import re

import lint

SCRIPT = 'src/libudpa.sym'
VERSION = 'UDPA_0'  # the SONAME's; grows when a release breaks what was exported
HEADER = ('/* SPDX-License-Identifier: Apache-2.0 */\n'
          '/* What libudpa exports; tests/lint/symbols.py --write makes it of include/udpa/. */\n')

# A doc block, and the declaration right behind it.
DECLARATION = re.compile(r'(?P<doc>/\*\*(?:(?!\*/).)*\*/\s*)?^UDPA_API\b(?P<text>[^;{]*);',
                         re.DOTALL | re.MULTILINE)


def declarations(root):
    """(path, name, doc, returns something) of each public function."""
    for path in lint.tracked(root):
        if not (path.startswith('include/udpa/') and path.endswith(('.h', '.h.in'))):
            continue
        for match in DECLARATION.finditer(lint.read(root, path) or ''):
            text = ' '.join(match.group('text').split())
            name = re.search(r'(\w+) ?\(', re.sub(r'UDPA_\w+(?: ?\([^)]*\))?', '', text))
            head = text[:text.find(name.group(1))] if name else ''
            yield (path, name.group(1) if name else text, match.group('doc') or '',
                   '*' in head or 'void' not in head.split())


def check_docs(found):
    for path, name, doc, returns in found:
        if not doc:
            yield f'{path}: {name}: no doc block right before it'
            continue
        for tag in ['@thread', '@since'] + ['@return'] * returns:
            if not re.search(rf'{tag}\b', doc):
                yield f'{path}: {name}: its doc block has no {tag}'


def exported(root):
    """The symbols of the version script, in its order."""
    path = root / SCRIPT
    text = path.read_text(encoding='utf-8') if path.exists() else ''
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL)
    between = re.search(r'global:(.*?)local:\s*\*;', text, re.DOTALL)
    return re.findall(r'^\s*([\w*?]+);\s*$', between.group(1), re.MULTILINE) if between else []


def check_script(root, names):
    symbols = exported(root)
    for name in sorted(set(names) - set(symbols)):
        yield f'{SCRIPT}: {name} is missing; tests/lint/symbols.py --write puts it there'
    for name in sorted(set(symbols) - set(names)):
        yield f'{SCRIPT}: {name} is in no public header'
    if symbols != sorted(set(symbols)):
        yield f'{SCRIPT}: not sorted, or a symbol is there twice'


def check_use(root, names, prefix, suffixes, call, what):
    text = '\n'.join(lint.read(root, path) or '' for path in lint.tracked(root)
                     if path.startswith(prefix) and path.endswith(suffixes))
    for name in names:
        if not re.search(rf'\b{name}\b{call}', text):
            yield f'{name}: no {what}'


def write(root, names):
    lines = ''.join(f'    {name};\n' for name in sorted(names))
    (root / SCRIPT).write_text(
        f'{HEADER}{VERSION} {{\nglobal:\n{lines}local:\n    *;\n}};\n', encoding='utf-8')


def check(root, arguments):
    found = list(declarations(root))
    names = [name for _, name, _, _ in found]
    if arguments.write:
        write(root, names)
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f'{name} is declared twice'
    yield from check_docs(found)
    yield from check_script(root, names)
    if arguments.tests:
        # A call, or the name handed to UDPA_AUTO(), which calls it.
        yield from check_use(root, names, 'tests/', ('.c', '.cc'), r'\s*[()]', 'test calls it')
    if arguments.man:
        yield from check_use(root, names, 'docs/man/', tuple('123456789'), '', 'manual page names it')


OPTIONS = [
    ('--tests', {'action': 'store_true', 'help': 'a test must call each function'}),
    ('--man', {'action': 'store_true', 'help': 'a manual page must name each function'}),
    ('--write', {'action': 'store_true', 'help': f'write {SCRIPT} anew'}),
]


class Arguments:
    def __init__(self, tests=False, man=False, write=False):
        self.tests, self.man, self.write = tests, man, write


DOCUMENTED = '/** It.\n * @return x.\n * @thread any   @since 0.1\n */\n'


def self_test():
    header = ('/** A type; not a function. */\ntypedef int udpa_t;\n\n'
              + DOCUMENTED + 'UDPA_API UDPA_MUST_USE udpa_err udpa_a(int x,\n    int y);\n\n'
              '/** @thread any @since 0.1 */\nUDPA_API void udpa_b(void (*fn)(void));\n\n'
              + DOCUMENTED + 'UDPA_API void *udpa_c(const char *f, ...) UDPA_PRINTF(1, 2);\n')
    script = 'UDPA_0 {\nglobal:\n    udpa_a;\n    udpa_b;\n    udpa_c;\nlocal:\n    *;\n};\n'
    good = {'include/udpa/a.h': header, SCRIPT: script,
            'tests/t.c': 'udpa_a(1, 2);udpa_b (f);UDPA_AUTO(udpa_c)',
            'docs/man/x.3': 'udpa_a udpa_b udpa_c\n'}
    with lint.tree(good) as root:
        lint.expect(check(root, Arguments(tests=True, man=True)))
        (root / SCRIPT).write_text('')
        lint.expect(check(root, Arguments()), 'udpa_a is missing', 'udpa_b is m', 'udpa_c is m')
        lint.expect(check(root, Arguments(write=True)))
        lint.expect(exported(root), '^udpa_a$', '^udpa_b$', '^udpa_c$')
    bad = {
        'include/udpa/a.h': '/** It. */\nUDPA_API int udpa_a(void);\n'
                            '/** @thread any */\nUDPA_API void udpa_b(void);\n'
                            '/** It. */\nint z;\nUDPA_API int udpa_c(void);\n',
        SCRIPT: script.replace('udpa_c', 'udpa_*'),
        'tests/t.c': 'udpa_a_thing(); udpa_b;', 'docs/man/x.3': 'udpa_a udpa_bc\n',
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, Arguments(tests=True, man=True)),
                    'udpa_a: .* @return', 'udpa_a: .* @thread', 'udpa_a: .* @since',
                    'udpa_b: .* @since', 'udpa_c: no doc block', 'udpa_c is missing',
                    r'udpa_\* is in no', 'not sorted', 'udpa_a: no test', 'udpa_b: no test',
                    'udpa_c: no test', 'udpa_b: no manual', 'udpa_c: no manual')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test, OPTIONS)
