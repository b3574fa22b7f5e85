#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links of pages (*.md) lead somewhere: to a file or folder under version control, and behind a # to a heading of
that page. So do the pages that man pages, the README and NEWS name as docs/…. Each picture has its source beside
it: a file of the same name with another suffix."""
import pathlib
import posixpath
import re
import sys

import lint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'site'))

from markdown_page import slug  # noqa: E402

LINK = re.compile(r'!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+"[^"]*")?\s*\)')
DEFINITION = re.compile(r'^\[[^\]]+\]:\s+(\S+)')
TAG = re.compile(r'<(?:a|img)\b[^>]*\b(?:href|src)="([^"]+)"')
HEADING = re.compile(r'^#{1,6} +(.*?)(?: +#+)?$')
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')
MENTION = re.compile(r'\bdocs/[\w./-]*[\w/]')
MENTIONING = re.compile(r'^(NEWS|docs/man/.*\.[1-8])$')
PICTURES = ('.svg', '.png', '.jpg', '.jpeg', '.gif', '.webp')


def prose(text):
    """(number, line) of what is not code; code in a line is empty."""
    fence = None
    for number, line in enumerate(text.split('\n'), start=1):
        mark = re.match(r'\s*(`{3,}|~{3,})', line)
        if mark and (fence is None or line.strip().startswith(fence) and line.strip() == mark[1]):
            fence = mark[1] if fence is None else None
        elif fence is None and not (line.startswith('    ') and not line.strip().startswith(('-', '*'))):
            yield number, line


def anchors(text):
    found, seen = set(), {}
    for _, line in prose(text):
        found.update(ANCHOR.findall(line))
        match = HEADING.match(line)
        if match:
            name = slug(match[1])
            seen[name] = seen.get(name, -1) + 1
            found.add(f'{name}-{seen[name]}' if seen[name] else name)
    return found


def targets(text):
    """(number, target) of each link. One may go on in the next line, which it then belongs to."""
    lines = list(prose(text))
    joined = '\n'.join(re.sub(r'`[^`]*`', '``', line) for _, line in lines)
    for pattern in (LINK, TAG):
        for match in pattern.finditer(joined):
            yield lines[joined.count('\n', 0, match.start(1))][0], match[1]
    for number, line in lines:
        match = DEFINITION.match(line)
        if match:
            yield number, match[1]


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = set(lint.tracked(root))
        self.folders = {str(parent) for file in self.files for parent in pathlib.PurePosixPath(file).parents}
        self.anchors = {}

    def has(self, path):
        return path in self.files or path.rstrip('/') in self.folders

    def anchors_of(self, path):
        if path not in self.anchors:
            self.anchors[path] = anchors(lint.read(self.root, path) or '')
        return self.anchors[path]


def problem(tree, page, target):
    """What is wrong with a link; None: nothing, or it leads out of the repository."""
    if re.match(r'[a-z][a-z+.-]*:', target):
        return None
    path, _, anchor = target.partition('#')
    where = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    if path.startswith('/') or where.startswith('..'):
        return f'"{target}" leads out of the repository'
    if not tree.has(where):
        return f'"{target}" leads nowhere: there is no {where}'
    if anchor and where.endswith('.md') and anchor not in tree.anchors_of(where):
        return f'"{target}" leads nowhere: {where} has no such heading'
    return None


def check_mentions(tree, path):
    text = lint.read(tree.root, path) or ''
    for number, line in enumerate(text.split('\n'), start=1):
        for name in MENTION.findall(line.replace('\\-', '-')):
            if not tree.has(name):
                yield f'{path}:{number}: there is no {name}'


def check_picture(tree, path):
    stem = posixpath.splitext(path)[0]
    if not any(posixpath.splitext(file)[0] == stem and not file.endswith(PICTURES) for file in tree.files):
        yield f'{path}: has no source beside it, such as {stem}.dot or {stem}.py'


def check(root, _arguments):
    tree = Tree(root)
    for path in sorted(tree.files):
        if path.endswith('.md'):
            for number, target in targets(lint.read(root, path) or ''):
                found = problem(tree, path, target)
                if found:
                    yield f'{path}:{number}: {found}'
        if MENTIONING.match(path):
            yield from check_mentions(tree, path)
        if path.endswith(PICTURES):
            yield from check_picture(tree, path)


def self_test():
    good = {
        'README.md': '# The *one*\n\n[a](docs/a.md#a-b--c), [b\nc](docs), ![d](docs/d.svg)\n\n'
                     '`[x](y)` [z](https://example.com/z)\n\n```md\n[x](y)\n```\n\n[r]: docs/a.md\n',
        'docs/a.md': '## A, b & c\n\n## Twice\n\n## Twice\n\n[up](../README.md#the-one) [here](#twice-1)\n'
                     '<img src="d.svg">\n',
        'docs/d.svg': '<svg/>', 'docs/d.dot': 'digraph {}',
        'docs/man/a.1': 'See docs/a.md.\n',
    }
    with lint.tree(good) as root:
        lint.expect(check(root, None))
    bad = {
        'README.md': '[a](docs/b.md)\n\n[a](docs/a.md#c) [b\n](/docs/a.md)\n\n[c](../a.md)\n\n[r]: docs/r.md\n',
        'docs/a.md': '```\n# c\n```\n\n<img src="e.svg">\n[x](#c)\n',
        'docs/d.svg': '<svg/>', 'docs/d.png': '',
        'docs/man/a.1': 'See docs/b\\-c.md, and docs/a.md.\n',
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, None), 'README.md:1: "docs/b.md" leads nowhere', 'README.md:3: .*no such heading',
                    'README.md:4: .*out of', 'README.md:6: .*out of', 'README.md:8: .*docs/r.md',
                    'a.md:5: "e.svg"', 'a.md:6: "#c".*heading', 'd.svg: has no source', 'd.png: has no source',
                    'a.1:1: there is no docs/b-c.md')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
