#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our C and C++ is as clang-format 14 would write it; other majors format differently, so without that
one the check is skipped. `tests/lint/format.py --fix` formats."""
import re
import shutil
import subprocess

import lint

MAJOR = 14


def clang_format():
    for name in (f'clang-format-{MAJOR}', 'clang-format'):
        found = shutil.which(name)
        if not found:
            continue
        version = subprocess.run([found, '--version'], capture_output=True, text=True,
                                 check=False).stdout
        if re.search(rf'version {MAJOR}\.', version):
            return found
    raise lint.Skip(f'clang-format {MAJOR} is not installed')


def check(root, arguments):
    command, paths = clang_format(), lint.code(root)
    if not paths:
        return
    if arguments.fix:
        subprocess.run([command, '-i', *paths], cwd=root, check=True)
    done = subprocess.run([command, '--dry-run', '-Werror', *paths], cwd=root,
                          capture_output=True, text=True, check=False)
    seen = set()
    for line in done.stderr.splitlines():
        match = re.match(r'([^:\s]+):\d+:\d+: (?:error|warning):', line)
        if match and match.group(1) not in seen:
            seen.add(match.group(1))
            yield f'{line}; tests/lint/format.py --fix'
    if done.returncode and not seen:
        yield f'clang-format failed: {done.stderr.strip()}'


OPTIONS = [('--fix', {'action': 'store_true', 'help': 'format the files first'})]


class Arguments:
    fix = False


class Fix:
    fix = True


def self_test():
    style = 'BasedOnStyle: LLVM\nIndentWidth: 4\n'
    with lint.tree({'.clang-format': style, 'a.c': 'int x;\n', 'b.md': 'int  x;\n'}) as root:
        lint.expect(check(root, Arguments))
    with lint.tree({'.clang-format': style, 'a.c': 'int  x;\n', 'b.pb-c.c': 'int  x;\n',
                    'c/d.h': '\nint  y;\nint  z;\n', 'e.h': 'int x;\n'}) as root:
        lint.expect(check(root, Arguments), '^a.c:1:4: error', '^c/d.h:2:')
        lint.expect(check(root, Fix))
        lint.expect(check(root, Arguments))


if __name__ == '__main__':
    lint.main(__doc__, check, self_test, OPTIONS)
