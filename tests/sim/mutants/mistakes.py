# SPDX-License-Identifier: Apache-2.0
"""Mistakes to be planted, each described by what it changes in which function:

    Any peer may publish anything.

    in: udpai_access_check_publication
    find: !node->acl
    replace: node->acl

The first lines say why it is plausible. Then come one change or more; a text may also stand in the lines
behind `find:` or `replace:`, and a `replace:` without any leaves out what was found. A change can have
several pairs, and `in:` can name a file-scope table.

The function is found in whatever file of FOLDERS defines it. What `find:` has is compared token by token:
lines, white space and comments make no difference. It must occur once in the function (in all of them, where
several static ones have one name). So a function can move, and what renames an identifier in the sources
renames it here, too.
"""
import pathlib
import re
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
sys.path.insert(0, str(SOURCE / 'tests' / 'mutants'))

import sites  # noqa: E402

FOLDERS = ('certs', 'federation', 'src')
SUFFIXES = ('.c', '.h')
TABLE = re.compile(r'^(?:static|const|struct)\b[\w *]*\b([a-z_]\w*)(?:\[\w*\])* = \{$', re.MULTILINE)
KEY = re.compile(r'^(in|find|replace):(.*)')
ORDER = {'in': ('find',), 'find': ('replace',), 'replace': ('in', 'find', 'end')}


class Failure(Exception):
    """A mistake cannot be read or planted; the message says why."""


class Change(NamedTuple):
    function: str
    find: str
    replace: str


class Mistake(NamedTuple):
    name: str
    reason: str
    changes: list


class Place(NamedTuple):
    """tokens[first:end] of a file."""
    file: str
    function: str
    first: int
    end: int


# ---- reading ----

def known():
    return sorted(path.stem for path in HERE.glob('*.mistake'))


def read(name):
    return parse(name, (HERE / f'{name}.mistake').read_text(encoding='utf-8'))


def parse(name, text):
    reason, parts = [], []
    for line in text.splitlines():
        key = KEY.match(line)
        if key:
            parts.append((key.group(1), [key.group(2)]))
        else:
            (parts[-1][1] if parts else reason).append(line)
    reason = '\n'.join(reason).strip()
    if not reason or not parts:
        raise Failure(f'{name}: it has a description and at least one change')
    return Mistake(name, reason, list(changes_of(name, parts)))


def changes_of(name, parts):
    allowed, function, find = ('in',), '', ''
    for key, lines in parts + [('end', [])]:
        if key not in allowed:
            raise Failure(f'{name}: {key} stands where {" or ".join(allowed)} is expected')
        allowed, text = ORDER.get(key, ()), '\n'.join(lines).strip()
        if key == 'in':
            function = text
        elif key == 'find':
            find = text
        elif key == 'replace':
            if texts_of(find) == texts_of(text):
                raise Failure(f'{name}: in {function} it changes nothing: {find}')
            yield Change(function, find, text)


def texts_of(code):
    return [token.text for token in sites.tokenize(code)]


# ---- planting ----

class Sources:
    """The C files of a tree, and where their functions and tables are defined."""

    def __init__(self, root):
        self.texts = {path.relative_to(root).as_posix(): path.read_text(encoding='utf-8')
                      for folder in FOLDERS for path in sorted((root / folder).rglob('*'))
                      if path.suffix in SUFFIXES}
        self.files = {} # tokens, of those that were needed
        self.heads = {} # {function: [(file, where its name begins, where its brace opens)]}
        for file, text in self.texts.items():
            for pattern in (sites.FUNCTION, TABLE):
                for match in pattern.finditer(text):
                    self.heads.setdefault(match.group(1), []).append(
                        (file, match.start(1), match.end() - 1))

    def file(self, name):
        if name not in self.files:
            self.files[name] = sites.File(self.texts[name])
        return self.files[name]

    def definitions(self, function):
        for name, start, brace in self.heads.get(function, ()):
            file = self.file(name)
            last = file.partner.get(file.index_at(brace))
            if last is not None:
                yield Place(name, function, file.index_at(start), last + 1)

    def places(self, function, find):
        """Where the text occurs in what has this name."""
        wanted = texts_of(find)
        for definition in self.definitions(function):
            tokens = self.file(definition.file).tokens
            for first in range(definition.first, definition.end - len(wanted) + 1):
                if all(tokens[first + i].text == text for i, text in enumerate(wanted)):
                    yield definition._replace(first=first, end=first + len(wanted))

    def place(self, name, change):
        """The only one."""
        where = ', '.join(place.file for place in self.definitions(change.function))
        if not where:
            raise Failure(f'{name}: no function or table is named {change.function}')
        found = list(self.places(change.function, change.find)) if change.find else []
        if len(found) == 1:
            return found[0]
        if not found:
            raise Failure(f'{name}: {change.function} ({where}) does not contain: {change.find}' +
                          self.elsewhere(change.find))
        raise Failure(f'{name}: {change.function} ({where}) contains {len(found)} times: {change.find}')

    def elsewhere(self, find):
        found = [place for function in self.heads for place in self.places(function, find)][:3]
        return ''.join(f'; {place.function} ({place.file}) does' for place in found) if find else ''


def planted(mistake, sources):
    """{file: its text with the mistake}"""
    edits = {}
    for change in mistake.changes:
        place = sources.place(mistake.name, change)
        tokens = sources.file(place.file).tokens
        edits.setdefault(place.file, []).append(
            (tokens[place.first].start, tokens[place.end - 1].end, change.replace))
    found = {}
    for file, spans in edits.items():
        text, behind = sources.texts[file], None
        for start, end, replace in sorted(spans, reverse=True):
            if behind is not None and end > behind:
                raise Failure(f'{mistake.name}: two of its changes overlap in {file}')
            text, behind = text[:start] + replace + text[end:], start
        found[file] = text
    return found
