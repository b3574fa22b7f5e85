#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone, and twice: public ones in strict C99 and C++11 without any path of ours
but include/, the others as the sources do. One of ours that a source of the build includes before anything else
has compiled alone with that; of this only its guard is looked at."""
import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import lint

WARNINGS = ['-Wall', '-Wextra', '-Werror']
C99 = ['-x', 'c', '-std=c99', '-pedantic-errors', '-Wstrict-prototypes', *WARNINGS]
CXX11 = ['-x', 'c++', '-std=c++11', '-pedantic-errors', *WARNINGS]
OURS_C = ['-x', 'c', '-std=gnu11', '-D_GNU_SOURCE', *WARNINGS]
OURS_CXX = ['-x', 'c++', '-std=gnu++17', '-D_GNU_SOURCE', *WARNINGS]
PACKAGES = 'grpc libprotobuf-c protobuf libuv openssl libsqlite3 libfyaml libxxhash'.split()


def flags_of_packages():
    """Where the headers of our dependencies are; a package that is missing has none."""
    flags = []
    for package in PACKAGES:
        found = subprocess.run(['pkg-config', '--cflags', package], capture_output=True, text=True,
                               check=False)
        flags += shlex.split(found.stdout)
    return [flag.replace('-I', '-isystem', 1) for flag in flags]


# ---- what the build shows ----

GUARD = re.compile(r'\s*#ifndef (\w+)\n#define \1\n.*\n#endif\s*', re.DOTALL)
FIRST = re.compile(r'(?:\s*#ifndef (\w+)\n#define \1\n)?\s*#include "([^"]+)"')


def without_comments(path):
    return re.sub(r'/\*.*?\*/', '', path.read_text(encoding='utf-8'), flags=re.DOTALL)


def sources_of_build(root, build):
    """Those that it compiles, below the root."""
    path = build / 'compile_commands.json' if build else None
    entries = json.loads(path.read_text(encoding='utf-8')) if path and path.exists() else []
    files = {(pathlib.Path(entry['directory']) / entry['file']).resolve() for entry in entries}
    return [file for file in files if file.is_relative_to(root) and not file.is_relative_to(build.resolve())]


def first_of(root, path):
    """The header of ours that stands before anything else; None: something else does."""
    found = FIRST.match(without_comments(path))
    places = (at / found.group(2) for at in (root, root / 'src')) if found else ()
    return next((place for place in places if place.exists()), None)


def shown_by_build(root, build):
    """Paths of headers that are first in a source, or in another of them, and have a guard."""
    root, shown = root.resolve(), set()
    todo = sources_of_build(root, build)
    while todo:
        header = first_of(root, todo.pop())
        if header and header not in shown:
            shown.add(header)
            todo.append(header)
    return {str(header.relative_to(root)) for header in shown if GUARD.fullmatch(without_comments(header))}


# ---- what is compiled here ----

def jobs(root, arguments):
    """(header, language, command) of each compilation."""
    cc, cxx = shlex.split(arguments.cc), shlex.split(arguments.cxx)
    build = [arguments.build] if arguments.build else []
    public = ['-I', root / 'include', *[flag for at in build for flag in ('-I', at / 'include')]]
    private = [flag for at in [root, root / 'src', *[b / 'src' for b in build],
                               *[b / 'proto' for b in build]] for flag in ('-I', at)]
    packages, shown = flags_of_packages(), shown_by_build(root, arguments.build)
    for path in lint.code(root, lint.HEADER_SUFFIXES):
        if path in shown:
            continue
        if path.startswith('include/'):
            name = f'<{path[len("include/"):]}>'
            yield path, 'C99', name, [*cc, *C99, *public]
            yield path, 'C++11', name, [*cxx, *CXX11, *public]
        elif path.endswith('.hh'):
            yield path, 'C++17', f'"{path}"', [*cxx, *OURS_CXX, *public, *private, *packages]
        elif path.startswith(('src/', 'certs/', 'federation/', 'tools/')):
            yield path, 'gnu11', f'"{path}"', [*cc, *OURS_C, *public, *private, *packages]


def compile_alone(job, directory):
    path, language, name, command = job
    source = directory / re.sub(r'\W', '_', f'{path} {language}')
    # The declaration is there for headers of macros alone: ISO C wants one.
    source.write_text(f'#include {name}\n#include {name}\nextern int declaration;\n', encoding='utf-8')
    done = subprocess.run([*map(str, command), '-S', source, '-o', f'{source}.s'], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return None
    return f'{path}: does not compile alone as {language}:\n{done.stderr.rstrip()}'


def check(root, arguments):
    # The build's files have one place, so that what a compiler's cache knows is not compiled again.
    with contextlib.ExitStack() as stack:
        directory = arguments.build / 'lint-headers' if arguments.build else \
            pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        directory.mkdir(exist_ok=True)
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(os.cpu_count()))
        each = functools.partial(compile_alone, directory=directory)
        return [finding for finding in pool.map(each, jobs(root, arguments)) if finding]


OPTIONS = [
    ('--cc', {'default': 'cc', 'help': 'C compiler'}),
    ('--cxx', {'default': 'c++', 'help': 'C++ compiler'}),
    ('--build', {'type': pathlib.Path, 'help': 'build directory, for generated headers'}),
]


class Arguments:
    cc, cxx, build = 'cc', 'c++', None


def guarded(text):
    guard = f'GUARD_{abs(hash(text))}'
    return f'#ifndef {guard}\n#define {guard}\n{text}#endif\n'


def self_test():
    good = {
        'include/udpa/a.h': guarded('#include <stddef.h>\nsize_t udpa_a(void);\n'),
        'src/base/x.h': guarded('#include <udpa/a.h>\nstatic inline int\nx(void)\n{\n'
                                '    return ({ (int)udpa_a(); });\n}\n'),
        'src/base/y.hh': guarded('#include <string>\nstd::string y();\n'),
        'tests/broken.h': 'broken',
    }
    with lint.tree(good) as root:
        lint.expect(check(root, Arguments))
    bad = {
        'include/udpa/a.h': guarded('size_t udpa_a(void);\n'),             # not alone
        'include/udpa/b.h': guarded('int udpa_b(int class);\n'),           # not C++
        'include/udpa/c.h': guarded('typeof(int) udpa_c(void);\n'),        # GNU, and not C++11
        'include/udpa/d.h': guarded('#include "base/x.h"\n'),              # a path of ours
        'src/base/x.h': 'struct x {\n    int y;\n};\n',                    # no guard
        'src/base/y.hh': guarded('std::string y();\n'),
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, Arguments), 'a.h: .*C99', r'a.h: .*C\+\+11', r'b.h: .*C\+\+11',
                    'c.h: .*C99', r'c.h: .*C\+\+11', 'd.h: .*C99', r'd.h: .*C\+\+11',
                    'x.h: .*gnu11', r'y.hh: .*C\+\+17')
    self_test_of_build()


def self_test_of_build():
    """What a source includes first is not compiled again here: `no_such_type` would show it."""
    files = {
        'src/base/first.c': '/* Licence. */\n#include "base/first.h"\n#include "base/second.h"\n',
        'src/base/first.h': guarded('/* Its own. */\n#include "base/below.h"\nno_such_type first(void);\n'),
        'src/base/below.h': guarded('no_such_type below(void);\n'),
        'src/base/second.h': guarded('no_such_type second(void);\n'), # behind another
        'src/base/bare.c': '#include "base/bare.h"\n',
        'src/base/bare.h': 'struct bare {\n    int y;\n};\n', # no guard
        'src/base/late.c': 'typedef int no_such_type;\n#include "base/late.h"\n',
        'src/base/late.h': guarded('no_such_type late(void);\n'),
        'src/base/left_out.c': '#include "base/left_out.h"\n', # the build does not compile it
        'src/base/left_out.h': guarded('no_such_type left_out(void);\n'),
    }
    compiled = [name for name in files if name.endswith('.c') and 'left_out' not in name]
    with lint.tree(files) as root:
        arguments = Arguments()
        arguments.build = root / 'build'
        arguments.build.mkdir()
        (arguments.build / 'compile_commands.json').write_text(
            json.dumps([{'directory': str(arguments.build), 'file': f'../{name}'} for name in compiled]), encoding='utf-8')
        lint.expect(check(root, arguments), 'second.h: .*gnu11', 'bare.h: .*gnu11', 'late.h: .*gnu11',
                    'left_out.h: .*gnu11')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test, OPTIONS)
