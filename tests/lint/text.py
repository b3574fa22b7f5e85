#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What no file may say: paths of one machine, hosts of package registries, and who or what helped to
write it. Files speak of the project."""
import re

import lint

# Written so that this file does not match them.
RULES = [
    ('a path of one machine', re.compile(r'(?<![\w.~}-])/(?:wor[k]|roo[t]|hom[e])(?:/|\b)')),
    ('a registry host', re.compile(
        r'\b(?:pyp[i]\.org|files\.pythonhoste[d]\.org|registry\.npmj[s]\.org|(?:proxy|sum)\.golan[g]'
        r'\.org|(?:deb|security)\.debia[n]\.org|crate[s]\.io|repo1?\.mave[n]\.\w+)', re.I)),
    ('not about the project', re.compile(
        r'\b(?:claud[e]|anthropi[c]|chatgp[t]|gp[t]-\d|opena[i]|copilo[t]|ll[m]s?|'
        r'language mode[l]s?|a[i][- ](?:generated|assisted|tools?))\b', re.I)),
]


def check(root, _arguments):
    for path in lint.tracked(root):
        text = lint.read(root, path)
        for what, pattern in RULES:
            for where, line in enumerate([path] + (text or '').split('\n')):
                match = pattern.search(line)
                if match:
                    yield f'{path}:{where}: {what}: {match.group(0)}'


def self_test():
    good = {
        'a.md': 'See docs/' + 'work/x, https://example.com/' + 'home and $x/' + 'root/y.\n'
                'A clause. Available tools. The maintainer helped.\n',
        'b': bytes([0, 1, 2]),
    }
    with lint.tree(good) as root:
        lint.expect(check(root, None))
    bad = {
        'a.md': 'cd /' + 'work/main\n',
        'b.sh': 'ls "/' + 'root"\nls (/' + 'home/me)\n',
        'c.txt': 'from py' + 'pi.org and deb.' + 'debian.org\n',
        'd.txt': 'by chat' + 'GPT\n',
        'e.txt': 'AI-' + 'generated\n',
        'clau' + 'de.md': '\n',
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, None), 'a.md:1: a path', 'b.sh:1: a path', 'b.sh:2: a path',
                    'c.txt:1: a registry', 'd.txt:1: not', 'e.txt:1: not', r'\.md:0: not')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
