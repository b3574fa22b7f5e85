#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the site of the documents in a directory, by mkdocs; for `make docs`, in the Python of `.ci/venv docs`.

The pages are copied as they lie in the repository, and beside them what they link to, so that their links lead
to the same places: a man page becomes a page, a folder a list of its files. mkdocs fails where a link or its
heading does not exist. Which pages there are is seen, and their order is below and in docs/guide/README.md.
"""
import argparse
import logging
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import manual
import markdown_page
from mkdocs.commands import build
from mkdocs.config import load_config

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = 'docs/guide/'
# The parts of the menu, and what is in each: pages that may be there, and patterns of all that no part names.
MENU = {
    'udpa': ['README.md'],
    'Quick starts': [GUIDES + 'quick-start-envoy.md', GUIDES + 'quick-start-grpc.md', GUIDES + 'quick-start-mixed.md',
                     GUIDES + 'quick-start-*.md', 'docs/demo/transcript.md'],
    'Concepts': [GUIDES + 'concepts.md', GUIDES + 'glossary.md'],
    'Guides': [GUIDES + 'README.md', GUIDES + '*.md'],
    'Examples': ['docs/examples/*/README.md'],
    'Operations': [GUIDES + 'installing.md', GUIDES + 'operating.md', GUIDES + 'sizing.md', GUIDES + 'health.md', GUIDES + 'logs.md', GUIDES + 'audit.md',
                   GUIDES + 'observing.md', GUIDES + 'runbooks.md', GUIDES + 'troubleshooting.md',
                   GUIDES + 'lost-disk.md', GUIDES + 'certificates.md'],
    'Reference': ['docs/reference/*.md'],
    'Man pages': ['docs/man/*.md'],
    'Design': ['docs/design/*.md', 'CONTRIBUTING.md', 'SECURITY.md'],
    'Comparison': [GUIDES + 'comparison.md', 'docs/conformance.md', 'docs/interop.md', 'docs/pitfalls.md',
                   'docs/performance.md'],
    'News': ['NEWS.md'],
}
LINK = re.compile(r'(\]\(\s*<?)([^()\s>#]+)(#[^()\s>]*)?(>?(?:\s+"[^"]*")?\s*\))')


def tracked():
    listing = subprocess.run(['git', '-C', str(ROOT), 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                             capture_output=True, text=True, check=True).stdout
    return sorted(name for name in set(listing.split('\0')) if name and (ROOT / name).is_file())


def is_manual(path):
    return re.fullmatch(r'docs/man/.*\.[1-8]', path)


class Site:
    """The pages that mkdocs reads, in a directory."""

    def __init__(self, directory):
        self.directory = directory
        self.files = tracked()
        self.folders = {str(parent) for file in self.files for parent in pathlib.PurePosixPath(file).parents}
        self.written = set()
        self.pages = []

    def put(self, path, text):
        (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
        (self.directory / path).write_text(text, encoding='utf-8')
        self.written.add(path)
        if path.endswith('.md'):
            self.pages.append(path)

    def copy(self, path):
        """What a page links to and is none."""
        if path not in self.written:
            (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, self.directory / path)
            self.written.add(path)

    def list_folder(self, path):
        """A page with the files of a folder, which has none of its own."""
        page = f'{path}/README.md'
        if page in self.files or page in self.written:
            return page
        self.written.add(page)
        below = [file[len(path) + 1:] for file in self.files if file.startswith(path + '/')]
        lines = [f'- [{name}]({self.place(path, name)})' for name in below]
        self.put(page, f'# {path}\n\n' + '\n'.join(lines) + '\n')
        return page

    def place(self, folder, target):
        """Where a link from a page in a folder leads in the site, which gets it if it is not there."""
        where = posixpath.normpath(posixpath.join(folder, target))
        if where in self.folders:
            where = self.list_folder(where)
        elif is_manual(where) or where == 'NEWS':
            where += '.md'
        elif where in self.files and not where.endswith('.md'):
            self.copy(where)
        return posixpath.relpath(where, folder or '.')

    def page(self, path):
        """A page with its links, and fences that say the language alone, each behind an empty line as lists are."""
        folder = posixpath.dirname(path)
        lines, fence, before = [], None, ''
        for line in (ROOT / path).read_text(encoding='utf-8').split('\n'):
            mark = re.match(r'( *)(`{3,})(\S*)', line)
            if mark and (fence is None or mark[2] == fence and not mark[3]):
                fence = mark[2] if fence is None else None
                line = mark[0]
            elif fence is None:
                if re.match(r'([-*]|\d+\.) ', line) and re.match(r'[^-*\s|]', before) and not \
                        re.match(r'\d+\. ', before):
                    lines.append('')
            before = line
            lines.append(line)
        return LINK.sub(lambda match: self.link(folder, match), '\n'.join(lines))

    def link(self, folder, match):
        if re.match(r'[a-z][a-z+.-]*:', match[2]):
            return match[0]
        return match[1] + self.place(folder, match[2]) + (match[3] or '') + match[4]

    def fill(self):
        for path in self.files:
            if path.endswith('.md') and not path.startswith(('.', 'tests/')):
                self.put(path, self.page(path))
            elif is_manual(path):
                text = (ROOT / path).read_text(encoding='utf-8')
                self.put(path + '.md', manual.to_markdown(text, path))
        self.put('NEWS.md', (ROOT / 'NEWS').read_text(encoding='utf-8'))
        for path in self.files:
            if path.endswith(('.svg', '.png')) and path.startswith('docs/'):
                self.copy(path)


def reading_order():
    """The guides in the order in which their index links to them first."""
    index = ROOT / GUIDES / 'README.md'
    text = index.read_text(encoding='utf-8') if index.exists() else ''
    return [GUIDES + match[2] for match in LINK.finditer(text)]


def menu(pages):
    """[{part: [pages]}] as mkdocs wants it; each page once, but for lists of a folder."""
    named = {page for entries in MENU.values() for page in entries}
    order = reading_order()
    left = sorted(set(pages) - named, key=lambda page: (order.index(page) if page in order else len(order), page))
    parts = {}
    for part, entries in MENU.items():
        parts[part] = []
        for entry in entries:
            path = pathlib.PurePosixPath
            found = [page for page in left if path(page).match(entry) and page.count('/') == entry.count('/')]
            parts[part] += [entry] if entry in pages else found
            left = [page for page in left if page not in found]
    missing = [page for page in left if not page.endswith('README.md')]
    if missing:
        sys.exit(f'no part of the menu of docs/site/make.py has {", ".join(missing)}')
    return [{part: found if len(found) > 1 else found[0]} for part, found in parts.items() if found]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('directory', type=pathlib.Path, help='the site; what mkdocs reads lies beside it')
    directory = parser.parse_args().directory.resolve()
    source = directory.with_name(directory.name + '-source')
    logging.basicConfig(level=logging.WARNING, format='%(levelname)s: %(message)s')
    shutil.rmtree(source, ignore_errors=True)
    site = Site(source / 'pages')
    site.fill()
    (source / 'mkdocs.yml').write_text('site_name: udpa\n', encoding='utf-8')
    warn = {'not_found': 'warn', 'anchors': 'warn', 'absolute_links': 'warn', 'unrecognized_links': 'warn'}
    config = load_config(
        str(source / 'mkdocs.yml'), strict=True, docs_dir=str(source / 'pages'), site_dir=str(directory),
        use_directory_urls=False, nav=menu(site.pages), theme={'name': 'readthedocs', 'highlightjs': False},
        validation={'nav': {'omitted_files': 'ignore', 'not_found': 'warn', 'absolute_links': 'warn'}, 'links': warn},
        markdown_extensions=['tables', 'fenced_code', {'toc': {'slugify': markdown_page.slug}}])
    build.build(config)
    print(f'{len(site.pages)} pages: {directory}/index.html')


if __name__ == '__main__':
    main()
