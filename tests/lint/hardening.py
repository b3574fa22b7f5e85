#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs and the library as they are built: what is linked cannot be written over, stacks cannot be run
and are guarded, and what has no sanitizer checks the sizes of what it copies, and has another place in memory
at each start. Run with --build, the directory of a build."""
import pathlib
import platform
import re
import shlex
import subprocess
import tempfile

import lint

FILES = ('udpad', 'udpactl', 'udpa-bench', 'udpa-conform', 'libudpa.so')
CHECKED = re.compile(r'\b__\w+_chk\b(?!_fail)') # glibc's own forms, which know a size
EVERYWHERE = ('-fstack-protector-strong', '-fstack-clash-protection')


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def findings_in(path, is_sanitized):
    name = path.name
    head, segments, dynamic = (run('readelf', '-W', option, path) for option in ('-h', '-l', '-d'))
    symbols = run('nm', '-D', '--undefined-only', path)
    stack = re.search(r'GNU_STACK(.*)', segments)
    if not is_sanitized and not re.search(r'Type:\s+DYN', head):
        yield f'{name}: its place in memory is always the same (-fPIE, -pie)'
    if 'GNU_RELRO' not in segments:
        yield f'{name}: has no part that becomes read-only (-z relro)'
    if not re.search(r'\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)', dynamic):
        yield f'{name}: functions are bound when they are called first, and can be bound anew (-z now)'
    if not stack or re.search(r'\bR?WE\b', stack[1]):
        yield f'{name}: its stack can be run (-z noexecstack)'
    if '__stack_chk_fail' not in symbols:
        yield f'{name}: no function guards its stack (-fstack-protector-strong)'
    if not is_sanitized and not CHECKED.search(symbols):
        yield f'{name}: no copy is checked (-D_FORTIFY_SOURCE)'
    if is_sanitized and CHECKED.search(symbols):
        yield f'{name}: has a sanitizer, which does not see what _FORTIFY_SOURCE makes of calls'


def compiled(build):
    """How our own C files are compiled."""
    return (build / 'compile_commands.json').read_text(encoding='utf-8')


def check_flags(build):
    commands = compiled(build)
    wanted = EVERYWHERE + (('-fcf-protection',) if platform.machine() in ('x86_64', 'i686') else ())
    for flag in wanted:
        if flag not in commands:
            yield f'nothing is compiled with {flag}'


def check(_root, arguments):
    build = pathlib.Path(arguments.build)
    is_sanitized = '-fsanitize=' in compiled(build)
    yield from check_flags(build)
    for name in FILES:
        if (build / name).exists():
            yield from findings_in((build / name).resolve(), is_sanitized)


SOURCE = '''#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) { char room[64]; strcpy(room, argv[argc - 1]); return puts(room); }
'''


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / 'a.c').write_text(SOURCE, encoding='utf-8')

        def build(name, flags):
            run('cc', '-w', work / 'a.c', '-o', work / name, *shlex.split(flags))
            return list(findings_in(work / name, False))

        lint.expect(build('good', '-O2 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE '
                                  '-D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now,-z,noexecstack'))
        lint.expect(build('bad', '-O2 -no-pie -fno-stack-protector -U_FORTIFY_SOURCE '
                                 '-Wl,-z,norelro,-z,lazy,-z,execstack'),
                    'always the same', 'read-only', 'bound anew', 'can be run', 'guards its stack',
                    'no copy is checked')


OPTIONS = [('--build', {'help': 'a build directory'})]

if __name__ == '__main__':
    lint.main(__doc__, check, self_test, OPTIONS)
