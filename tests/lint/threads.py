#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/design/threads.md says which threads there are and what they say to each other. The code must
agree: every order and report has its one row, in the right direction, and nothing stands there that
the code does not know; and whoever begins a thread, or has one of libuv's work, is named.
"""
import re

import lint

NOTE = 'docs/design/threads.md'
MESSAGES = 'src/session/messages.h'
BEGINNER = 'src/loop/thread.h'  # has the function that begins them all
FOLDERS = ('src/', 'certs/', 'federation/', 'tools/')
LOOP, STREAMS = 'the loop', 'the stream thread'
DIRECTIONS = {'ORDER': (LOOP, STREAMS), 'REPORT': (STREAMS, LOOP)}

KIND = re.compile(r'\bUDPAI_(ORDER|REPORT)_(?!KINDS\b)[A-Z_]+\b')
BEGINS = re.compile(r'\b(?:udpai_thread_begin|pthread_create|thrd_create|'
                    r'uv_thread_create(?:_ex)?|uv_queue_work)\s*\(')
ROW = re.compile(r'^\|(.+)\|$', re.MULTILINE)


def rows(text, heading):
    """The rows below the first table head that begins with this column."""
    found = None
    for line in text.splitlines():
        match = ROW.match(line)
        cells = [cell.strip() for cell in match.group(1).split('|')] if match else []
        if found is None:
            found = [] if cells and cells[0] == heading else None
        elif not cells:
            return found
        elif set(cells[0]) != {'-'}:
            found.append(cells)
    return found or []


def enumerators(text):
    """The kinds that the two enumerations have, without the rest of the header."""
    blank, _ = lint.blank(text)
    bodies = re.findall(r'enum udpai_(?:order|report)_kind\s*\{(.*?)\}', blank, re.DOTALL)
    return [match.group(0) for body in bodies for match in KIND.finditer(body)]


def sources(root):
    return {path: lint.blank(lint.read(root, path) or '')[0] for path in lint.code(root)
            if path.startswith(FOLDERS) and path != BEGINNER}


def check_kinds(said, known):
    """Orders and reports: said maps a message to the pairs of sender and receiver."""
    for kind in known:
        pairs = said.get(kind, [])
        expected = DIRECTIONS[KIND.match(kind).group(1)]
        if len(pairs) != 1:
            yield f'{NOTE}: {kind} of {MESSAGES} has {len(pairs)} rows instead of one'
        for pair in pairs:
            if pair != expected:
                yield (f'{NOTE}: {kind} goes from {expected[0]} to {expected[1]}, not from '
                       f'{pair[0]} to {pair[1]}')
    for kind in said:
        if KIND.fullmatch(kind) and kind not in known:
            yield f'{NOTE}: {kind} is not in {MESSAGES}'


def check_threads(threads, code):
    begun = {path for path, text in code.items() if BEGINS.search(text)}
    named = {name for row in threads for name in re.findall(r'`([^`]+\.c)`', row[1])}
    for path in sorted(begun - named):
        yield f'{path}: begins a thread that {NOTE} does not name'
    for path in sorted(named - begun):
        yield f'{NOTE}: {path} begins no thread'


def full(name, threads):
    """The table of messages leaves the article out."""
    return next((thread for thread in threads if thread in (name, f'the {name}')), name)


def check(root, _arguments):
    text = lint.read(root, NOTE) or ''
    threads, messages = rows(text, 'thread'), rows(text, 'sender')
    names = [row[0] for row in threads]
    code = sources(root)
    said = {}
    for row in messages:
        pair = full(row[0], names), full(row[1], names)
        for end in pair:
            if end not in names:
                yield f'{NOTE}: {end} is in no row of the threads'
        for message in re.findall(r'`(\w+)(?:\(\))?`', row[2]):
            said.setdefault(message, []).append(pair)
    yield from check_kinds(said, enumerators(lint.read(root, MESSAGES) or ''))
    for message in said:
        if not KIND.fullmatch(message) and \
                not any(re.search(rf'\b{message}\b', source) for source in code.values()):
            yield f'{NOTE}: nothing in the code is called {message}'
    yield from check_threads(threads, code)


GOOD = {
    MESSAGES: 'typedef enum udpai_order_kind {\n    UDPAI_ORDER_GO, /* UDPAI_ORDER_OLD */\n'
              '    UDPAI_ORDER_KINDS,\n} udpai_order_kind;\n'
              'typedef enum udpai_report_kind {\n    UDPAI_REPORT_GONE,\n'
              '    UDPAI_REPORT_KINDS,\n} udpai_report_kind;\n',
    'src/x/thread.c': 'void go(void) { pthread_create(&t, NULL, run, NULL); }\n',
    'src/x/other.c': '/* pthread_create() is not called */\nvoid other(void);\n',
    NOTE: '# Threads\n\n| thread | begun in | owns |\n|---|---|---|\n'
          '| the loop | the application | |\n| the stream thread | `src/x/thread.c` | |\n\n'
          '| sender | receiver | message | what |\n|---|---|---|---|\n'
          '| loop | stream thread | `UDPAI_ORDER_GO` | go |\n'
          '| stream thread | loop | `UDPAI_REPORT_GONE` | gone |\n'
          '| loop | stream thread | `other()` | else |\n',
}


def broken(path, old, new):
    assert old in GOOD[path], old
    return {**GOOD, path: GOOD[path].replace(old, new)}


def self_test():
    with lint.tree(GOOD) as root:
        lint.expect(check(root, None))
    mistakes = [
        (MESSAGES, 'UDPAI_ORDER_GO,', 'UDPAI_ORDER_GO, UDPAI_ORDER_NEW,',
         ['UDPAI_ORDER_NEW of .* has 0 rows']),
        (MESSAGES, '    UDPAI_REPORT_GONE,\n', '', ['UDPAI_REPORT_GONE is not in']),
        (NOTE, '| stream thread | loop | `UDPAI_REPORT_GONE`',
         '| loop | stream thread | `UDPAI_REPORT_GONE`',
         ['UDPAI_REPORT_GONE goes from the stream thread to the loop, not from the loop']),
        (NOTE, '`other()`', '`UDPAI_ORDER_GO`', ['UDPAI_ORDER_GO of .* has 2 rows']),
        (NOTE, '`other()`', '`nowhere()`', ['nothing in the code is called nowhere']),
        (NOTE, '| loop | stream thread | `other', '| pool | stream thread | `other',
         ['pool is in no row']),
        (NOTE, 'src/x/thread.c', 'src/x/other.c',
         ['src/x/thread.c: begins a thread', 'src/x/other.c begins no thread']),
        ('src/x/other.c', 'void other(void);', 'void other(void) { uv_queue_work (l, w, a, b); }',
         ['src/x/other.c: begins a thread']),
        ('src/x/other.c', 'void other(void);', 'void other(void) { udpai_thread_begin(t, n, r, u); }',
         ['src/x/other.c: begins a thread']),
    ]
    for path, old, new, findings in mistakes:
        with lint.tree(broken(path, old, new)) as root:
            lint.expect(check(root, None), *findings)
    with lint.tree({**GOOD, NOTE: '# Threads\n'}) as root:
        lint.expect(check(root, None), 'UDPAI_ORDER_GO .* 0 rows', 'UDPAI_REPORT_GONE .* 0 rows',
                    'src/x/thread.c: begins a thread')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
