# SPDX-License-Identifier: Apache-2.0
"""What the lint scripts share.

Each script checks one rule over the whole tree and prints a line per finding. It has a self-test,
which proves that the rule can be broken: small trees with known mistakes must give exactly the
findings they deserve.
"""
import argparse
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77  # what meson takes for "skipped"
C_SUFFIXES = ('.c', '.h', '.cc', '.hh')
HEADER_SUFFIXES = ('.h', '.hh')
GENERATED = re.compile(r'\.pb(-c)?\.(c|cc|h)$')


class Skip(Exception):
    """The rule cannot be checked here; says why."""


def walk(root):
    for path in sorted(root.rglob('*')):
        inside = path.relative_to(root)
        if inside.parts[0].startswith('build') or inside.parts[0] == '.git' or not path.is_file():
            continue
        yield inside.as_posix()


def tracked(root):
    """Paths, relative to root, of the files that are or would be under version control."""
    if (root / '.git').exists():
        listing = subprocess.run(
            ['git', '-C', str(root), 'ls-files', '-z', '--cached', '--others',
             '--exclude-standard'], capture_output=True, text=True, check=False)
        if listing.returncode == 0:
            names = sorted(set(listing.stdout.split('\0')))
            return [name for name in names if name and (root / name).is_file()]
    return list(walk(root))


def code(root, suffixes=C_SUFFIXES):
    """Our own C and C++ files."""
    return [path for path in tracked(root)
            if path.endswith(suffixes) and not GENERATED.search(path)]


def read(root, path):
    """The text of a file; None if it is not text."""
    data = (root / path).read_bytes()
    if b'\0' in data:
        return None
    try:
        return data.decode('utf-8')
    except UnicodeDecodeError:
        return None


TOKEN = re.compile(
    r'(?P<line>//[^\n]*)'
    r'|(?P<block>/\*.*?\*/)'
    r'|(?P<raw>R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')",
    re.DOTALL)


def blank(text):
    """The text without comments and literals; their place and their line ends stay. And the numbers
    of the lines with a // comment."""
    slashes = []

    def replace(match):
        if match.lastgroup == 'line' or match.group('line'):
            slashes.append(text.count('\n', 0, match.start()) + 1)
        return re.sub(r'[^\n]', ' ', match.group(0))

    return TOKEN.sub(replace, text), slashes


@contextlib.contextmanager
def tree(files):
    """A temporary directory with these files: {path: text}."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, bytes):
                (root / path).write_bytes(text)
            else:
                (root / path).write_text(text, encoding='utf-8')
        yield root


def expect(findings, *patterns):
    """For self-tests: are there as many findings as patterns, each found by one of them?"""
    findings = list(findings)
    for pattern in patterns:
        if not any(re.search(pattern, finding) for finding in findings):
            sys.exit(f'self-test: nothing found for {pattern!r} in {findings}')
    if len(findings) != len(patterns):
        sys.exit(f'self-test: {len(patterns)} findings expected, not {findings}')


def main(description, check, self_test, options=()):
    """Runs a script: check(root, arguments) yields findings, self_test() exits when it fails."""
    parser = argparse.ArgumentParser(description=description)
    here = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument('--root', type=pathlib.Path, default=here, help='the source tree')
    parser.add_argument('--self-test', action='store_true', help='prove that the check can fail')
    for name, settings in options:
        parser.add_argument(name, **settings)
    arguments = parser.parse_args()
    try:
        if arguments.self_test:
            self_test()
            print('self-test passed')
            return
        findings = list(check(arguments.root, arguments))
    except Skip as reason:
        print(f'skipped: {reason}')
        sys.exit(SKIPPED)
    for finding in findings:
        print(finding)
    print(f'{len(findings)} findings')
    sys.exit(1 if findings else 0)
