# SPDX-License-Identifier: Apache-2.0
"""Which mistakes are made: a sample of all that can be, which is the same as long as the code is."""
import hashlib
import pathlib
import re
import sys
from typing import NamedTuple

import sites

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / 'tests' / 'lint'))

import pure  # noqa: E402

EQUIVALENT = HERE / 'equivalent.tsv'


class Candidate(NamedTuple):
    file: str
    line: int
    mistake: sites.Mistake
    before: str # of what becomes something else, in one line

    @property
    def folder(self):
        return str(pathlib.PurePosixPath(self.file).parent)

    @property
    def after(self):
        return flat(self.mistake.text)

    @property
    def key(self):
        """What it is, wherever the function moves."""
        return '\t'.join((self.file, self.mistake.function, self.mistake.operator, self.before,
                          self.after))

    def __str__(self):
        return (f'{self.file}:{self.line}: {self.mistake.function}: {self.mistake.operator}: '
                f'{self.before} => {self.after or "nothing"}')


def flat(text):
    return re.sub(r'\s+', ' ', text).strip()


def folders():
    for name in pure.PURE:
        for folder in (SOURCE / name, SOURCE / 'src' / name):
            if folder.is_dir():
                yield folder


def all_of(folder):
    for path in sorted(folder.glob('*.c')):
        source = path.read_text(encoding='utf-8')
        file = path.relative_to(SOURCE).as_posix()
        seen = set()
        for mistake in sites.File(source).mistakes():
            found = Candidate(file, source.count('\n', 0, mistake.start) + 1, mistake,
                              flat(source[mistake.start:mistake.end]))
            if found.key not in seen: # of a text that a function has twice, the first
                seen.add(found.key)
                yield found


def n_lines(folder):
    return sum(path.read_bytes().count(b'\n') for path in folder.glob('*.c'))


def shares(n):
    """How many of the sample each folder has: as its lines are."""
    lines = {folder: n_lines(folder) for folder in folders()}
    total, given, found = sum(lines.values()), 0, {}
    for i, folder in enumerate(lines):
        reached = round(n * sum(list(lines.values())[:i + 1]) / total)
        found[folder], given = reached - given, reached
    return found


class Deck:
    """The candidates of a folder, in an order made of the seed: one of each operator in turn, and at most
    one in one place."""

    def __init__(self, folder, seed):
        def place(one):
            return hashlib.sha256(f'{seed}\t{one.key}'.encode()).digest()
        self.of = {operator: [] for operator in sites.OPERATORS}
        for one in sorted(all_of(folder), key=place, reverse=True):
            self.of[one.mistake.operator].append(one)
        self.places = []
        self.turn = int.from_bytes(hashlib.sha256(f'{seed}\t{folder.name}'.encode()).digest()[:4], 'big')

    def is_free(self, one):
        return not any(file == one.file and start < one.mistake.end and one.mistake.start < end
                       for file, start, end in self.places)

    def draw(self):
        """The next; None: there is none."""
        names = list(sites.OPERATORS)
        for _ in names:
            rest = self.of[names[self.turn % len(names)]]
            self.turn += 1
            while rest:
                one = rest.pop()
                if self.is_free(one):
                    self.places.append((one.file, one.mistake.start, one.mistake.end))
                    return one
        return None


def read_equivalents():
    """{key: reason}"""
    lines = EQUIVALENT.read_text(encoding='utf-8').splitlines() if EQUIVALENT.exists() else []
    return {line.rpartition('\t')[0]: line.rpartition('\t')[2] for line in lines[1:]}
