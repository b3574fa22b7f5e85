#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our C and C++ is as clang-format 14 would write it; other majors format differently, so without that
one the check is skipped. `tests/lint/format.py --fix` formats."""
import hashlib
import pathlib
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


def digest(root, path, command):
    """Of all that the format of a file follows from."""
    style = (root / '.clang-format').read_bytes()
    return hashlib.sha256(b'\0'.join((command.encode(), style, (root / path).read_bytes()))).hexdigest()


def check(root, arguments):
    """What was well formatted when it was looked at before is not looked at again."""
    known = pathlib.Path(arguments.build) / 'lint-format' if arguments.build else None
    good = set(known.read_text(encoding='ascii').split()) if known and known.exists() else set()
    command = clang_format()
    now = {path: digest(root, path, command) for path in lint.code(root)}
    paths = [path for path, of in now.items() if arguments.fix or of not in good]
    found = list(findings(root, arguments, command, paths))
    if known and not found:
        known.write_text('\n'.join(now.values()), encoding='ascii')
    return found


def findings(root, arguments, command, paths):
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


OPTIONS = [
    ('--fix', {'action': 'store_true', 'help': 'format the files first'}),
    ('--build', {'help': 'a build directory, in which it is kept what was looked at before'}),
]


class Arguments:
    fix, build = False, None


class Fix:
    fix, build = True, None


def self_test():
    style = 'BasedOnStyle: LLVM\nIndentWidth: 4\n'
    with lint.tree({'.clang-format': style, 'a.c': 'int x;\n', 'b.md': 'int  x;\n'}) as root:
        lint.expect(check(root, Arguments))
    with lint.tree({'.clang-format': style, 'a.c': 'int  x;\n', 'b.pb-c.c': 'int  x;\n',
                    'c/d.h': '\nint  y;\nint  z;\n', 'e.h': 'int x;\n'}) as root:
        lint.expect(check(root, Arguments), '^a.c:1:4: error', '^c/d.h:2:')
        lint.expect(check(root, Fix))
        lint.expect(check(root, Arguments))
    with lint.tree({'.clang-format': style, 'a.c': 'int x;\n'}) as root:
        class Kept:
            fix, build = False, root
        lint.expect(check(root, Kept))
        (root / 'a.c').write_text('int  x;\n', encoding='ascii')
        lint.expect(check(root, Kept), '^a.c:1:4: error')
        lint.expect(check(root, Kept), '^a.c:1:4: error')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test, OPTIONS)
