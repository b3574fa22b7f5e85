#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpa-bench and udpa-conform: `udpactl bench` and `udpactl conform` are these programs, with the same output
and exit status; and if one is not installed, udpactl says so."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

from product import check, main

REFUSED = 1
NOWHERE = '127.0.0.1:1'
# Words behind the command: what the program itself finds wrong, what it says of a server, and its help.
SAME = {
    'bench': (['--help'], ['--streams', 'x'], ['word'], ['-o', 'yaml'], ['-o', 'path'], ['--sort-by', 'NAME'],
              ['-o', 'wide'], ['--cert', 'x'], ['-n', '_'], ['--node-id', ''], ['--type', 'nothing'],
              ['--publish', '--type', 'cluster'], ['--timeout', 'x'], ['--protocol'],
              ['--server', NOWHERE, '--timeout', '0.2', '--streams', '1'],
              ['--server', NOWHERE, '--timeout', '0.2', '--publish'], ['--ca', '/none']),
    'conform': (['--help'], ['--list', '--run', '^delta/'], ['word'], ['-o', 'yaml'], ['--no-headers'],
                ['--authority', '/'], ['--prefix', '/'], ['--run', '('], ['--change', 'a', '--apply-to', 'b'],
                ['--resource', 'word'], ['--quiet-ms', '0'], ['--http', 'ignored', '--list', '--run', 'xdstp'],
                ['--server', NOWHERE, '--timeout', '0.2'], ['--change', 'exit']),
}


def call(command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                          timeout=60, **more)


def by_name_of_udpactl(text, word):
    """What the program says, as udpactl has it."""
    return re.sub(rf'[^\s`]*udpa-{word}\b', 'udpactl', text.replace(f'Usage: udpa-{word}', f'Usage: udpactl {word}'))


def check_same(test, word, arguments):
    udpactl = call([test.build / 'udpactl', word, *arguments])
    own = call([test.build / f'udpa-{word}', *arguments])
    shown = ' '.join([word, *arguments])
    check(f'{shown}: exit status {own.returncode}', udpactl.returncode == own.returncode, udpactl.returncode)
    for name in ('stdout', 'stderr'):
        wanted = by_name_of_udpactl(getattr(own, name), word)
        found = getattr(udpactl, name).replace(str(test.build / 'udpactl'), 'udpactl')
        check(f'  and the same {name}', found == wanted, f'{found!r}, {wanted!r}')
    check('  which is not empty', own.stdout or own.stderr)


def check_results(test):
    """At a server: the options may stand before the command, too."""
    _, address = test.start_node()
    suite = ['--apply-to', address, '--run', '^delta/.*/initial-', '-o', 'tap']
    own = call([test.build / 'udpa-conform', '--server', address, *suite])
    udpactl = call([test.build / 'udpactl', '--server', address, *suite, 'conform'])
    check('conform at a node: the same results',
          own.returncode == udpactl.returncode == 0 and own.stdout == udpactl.stdout, [own, udpactl])
    check('  of some cases', own.stdout.count('\nok ') > 2, own.stdout)
    load = ['--publish', '--streams', '3', '--resources', '20', '--changes', '4', '-o', 'json']
    figures = []
    for command in ([test.build / 'udpa-bench', '--server', address, *load],
                    [test.build / 'udpactl', *load, '--server', address, 'bench']):
        done = call(command)
        check('bench at a node succeeds', done.returncode == 0 and not done.stderr, done)
        figures.append(json.loads(done.stdout))
    check('  and has the same figures of the same load',
          figures[0].keys() == figures[1].keys() and
          all(one['changes']['n'] == 4 and one['streams'] == 3 for one in figures), figures)


def check_missing(test, word):
    alone, elsewhere = test.work / f'alone-{word}', test.work / f'elsewhere-{word}'
    alone.mkdir()
    elsewhere.mkdir()
    shutil.copy(test.build / 'udpactl', alone)
    without = call([alone / 'udpactl', word, '--streams' if word == 'bench' else '--run', '1'],
                   env={**os.environ, 'PATH': str(elsewhere)})
    check(f'without udpa-{word}: exit status {REFUSED}', without.returncode == REFUSED, without)
    for part in (f'udpa-{word}', f'{alone}/', 'PATH', 'install'):
        check(f'  and says {part}', part in without.stderr, without.stderr)
    check('  its help is there all the same', call([alone / 'udpactl', word, '--help']).returncode == 0)
    (elsewhere / f'udpa-{word}').symlink_to(test.build / f'udpa-{word}')
    on_path = call([alone / 'udpactl', word, 'word'], env={**os.environ, 'PATH': str(elsewhere)})
    check('  on PATH it is found', 'takes no arguments' in on_path.stderr and on_path.returncode == 2, on_path)
    broken = alone / f'udpa-{word}'
    broken.write_text('', encoding='utf-8')
    failed = call([alone / 'udpactl', word], env={**os.environ, 'PATH': str(elsewhere)})
    check('  one that cannot be run is an error', failed.returncode == REFUSED and
          f'cannot run udpa-{word}' in failed.stderr, failed)


def body(test):
    for word, lines in SAME.items():
        for arguments in lines:
            check_same(test, word, arguments)
        version = call([test.build / f'udpa-{word}', '--version']).stdout
        check(f'udpa-{word} has a version', re.fullmatch(rf'udpa-{word} \d+\.\d+\.\d+\n', version), version)
        mistyped = call([test.build / 'udpactl', f'{word}x'])
        check('  and is suggested', f"did you mean '{word}'" in mistyped.stderr, mistyped)
        check_missing(test, word)
    check_results(test)


PARSER = argparse.ArgumentParser(description=__doc__)

if __name__ == '__main__':
    sys.exit(main(PARSER, body))
