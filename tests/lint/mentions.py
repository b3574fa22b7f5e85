#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/design and CONTRIBUTING.md name in backticks exists: each function (`name()`), each
name that begins with udpai_ or udpa_, each path, and each file. A path may be relative to src,
include or proto, and may have a placeholder: `src/xds/csds*.c`, `test_<file>.c`, `NAME.mistake`."""
import fnmatch
import re

import lint

PAGES = ('CONTRIBUTING.md', 'docs/design/*.md')
FENCE = re.compile(r'^ {0,3}```.*?^ {0,3}```', re.MULTILINE | re.DOTALL)
SPAN = re.compile(r'`([^`\n]+)`')
FUNCTION = re.compile(r'(\w+)\(\)')
OURS = re.compile(r'udpai?_[a-z]\w*')
# With a suffix, or a folder: what else has a slash may be the name of a resource.
PATH = re.compile(r'[\w.*<>-]+(?:/[\w.*<>-]+)+/?|[\w.-]+/')
# Without a folder: a file in any of them.
FILE = re.compile(r'[\w*<>-]+\.(?:c|h|cc|hh|proto)')
PLACEHOLDER = re.compile(r'<\w+>|[A-Z]{4,}')
ROOTS = ('', 'src/', 'include/', 'proto/')


class Sources:
    """The names in the code, without comments and texts, and the paths that there are."""

    def __init__(self, root):
        texts = [lint.blank(lint.read(root, path))[0] for path in lint.code(root)]
        # Of protos the fields are names, too: of what is read from files.
        texts += [re.sub(r'//[^\n]*', '', lint.read(root, path))
                  for path in lint.tracked(root) if path.endswith('.proto')]
        self.words, self.functions = set(), set()
        for text in texts:
            self.words.update(re.findall(r'\b\w+\b', text))
            self.functions.update(re.findall(r'\b(\w+)\)?\s*\(', text))
            self.functions.update(re.findall(r'#\s*define\s+(\w+)', text))
        self.paths = set()
        for path in lint.tracked(root):
            parts = path.split('/')
            self.paths.update('/'.join(parts[:n]) for n in range(1, len(parts) + 1))

    def has_path(self, path):
        pattern = PLACEHOLDER.sub('*', path.rstrip('/'))
        if '*' not in pattern:
            return any(before + pattern in self.paths for before in ROOTS)
        return any(fnmatch.fnmatchcase(one, before + pattern)
                   for before in ROOTS for one in self.paths)

    def has_file(self, name):
        pattern = PLACEHOLDER.sub('*', name)
        return any(fnmatch.fnmatchcase(path.rsplit('/', 1)[-1], pattern) for path in self.paths)

    def is_path(self, text):
        """Does it begin with a folder of ours?"""
        return bool(PATH.fullmatch(text)) and \
            any(before + text.split('/')[0] in self.paths for before in ROOTS)


def check_span(sources, span):
    first = span.split(' ')[0]  # behind it there may be arguments
    function = FUNCTION.fullmatch(span)
    if function and function.group(1) not in sources.functions:
        return f'there is no function {span}'
    if OURS.fullmatch(span) and span not in sources.words:
        return f'nothing is called {span}'
    if sources.is_path(first) and not sources.has_path(first):
        return f'there is no {first}'
    if FILE.fullmatch(first) and not sources.has_file(first):
        return f'no folder has {first}'
    return None


def check(root, _arguments):
    sources = Sources(root)
    for page in lint.tracked(root):
        if not any(fnmatch.fnmatchcase(page, pattern) for pattern in PAGES):
            continue
        text = FENCE.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), lint.read(root, page))
        for span in SPAN.finditer(text):
            problem = check_span(sources, span.group(1))
            if problem:
                line = text.count('\n', 0, span.start()) + 1
                yield f'{page}:{line}: {problem}: was it renamed, or moved?'


def self_test():
    tree = {
        'src/base/map.c': '/* udpai_gone() */\nvoid\nudpai_map_add(void)\n'
                          '{\n    uv_run("texted()");\n}\n',
        'src/base/map.h': '#define UDPAI_EACH(x) x\n'
                          'struct ops {\n    bool (*begin)(int udpai_n);\n};\n',
        'proto/udpa/a.proto': 'message A {\n  string udpa_listen = 1;  // udpa_former\n}\n',
        'tests/sim/run': '\n',
        'tests/unit/base/test_map.c': '\n',
    }
    good = ('`udpai_map_add()` `uv_run()` `UDPAI_EACH()` `begin()` `udpai_n` `udpa_listen` `udpai_`\n'
            '`src/base/map.c` `base/map.h` `src/` `udpa/a.proto` `src/base/map*`\n'
            '`tests/sim/run --seed 1` `tests/unit/<folder>/test_<file>.c`\n'
            '`tests/unit/base/test_NAME.c` `<x>/gone.c` `com.acme/y` `f(x)`\n'
            '`map.c` `ma*.h` `test_<file>.c` `a.py`\n'
            '```c\n`udpai_gone()` `src/gone.c`\n```\n')
    with lint.tree({**tree, 'CONTRIBUTING.md': good, 'docs/design/a.md': good,
                    'docs/guide/b.md': '`udpai_gone()`\n'}) as root:
        lint.expect(check(root, None))
    bad = ('`udpai_gone()`\n`texted()`\n`udpai_gone`\n`udpa_former`\n'
           '`src/base/gone.c`\n`base/gone.h x`\n`tests/sim/gone*.c`\n`src/xds/`\n`udpai_n()`\n`gone.c`\n')
    with lint.tree({**tree, 'CONTRIBUTING.md': '`src/x.c`\n', 'docs/design/a.md': bad}) as root:
        lint.expect(check(root, None), 'CONTRIBUTING.md:1: .*src/x.c', *(
            rf'a\.md:{line}: (there is no|nothing is|no folder)' for line in range(1, 11)))


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
