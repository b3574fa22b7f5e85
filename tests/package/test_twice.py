#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of the same sources, in different directories and after one another, install the same bytes: who has the
sources can tell that a program was made of them."""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys

import roots
from product import check, main

EPOCH = '1767225600'


def build(test, name):
    """Relative paths of what is installed, with hashes."""
    source, target = test.work / name / 'udpa', test.work / name / 'target'
    shutil.copytree(test.work / 'source', source, symlinks=True)
    log = test.work / f'{name}.log'
    environment = {**os.environ, 'SOURCE_DATE_EPOCH': EPOCH, 'CCACHE_DISABLE': '1', 'DESTDIR': str(target)}
    for command in (['meson', 'setup', 'build', '--buildtype=release', '-Dtests=false', '--prefix=/usr'],
                    ['ninja', '-C', 'build'], ['meson', 'install', '-C', 'build', '--no-rebuild'],
                    ['sh', '-c', f'src/make-sbom build > {target}/sbom.cdx.json']):
        with open(log, 'ab') as output:
            status = subprocess.run(command, cwd=source, env=environment, stdout=output, stderr=output,
                                    check=False).returncode
        check(f'{name}: {command[0]} {command[1]}', status == 0, log.read_text(errors='replace')[-3000:])
    return {str(path.relative_to(target)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(target.rglob('*')) if path.is_file()}


def body(test):
    roots.copy_source(test.work / 'source') # once: somebody may work on them meanwhile
    first = build(test, 'first')
    second = build(test, 'another-and-longer-name')
    check('the programs are there', {'usr/bin/udpad', 'usr/bin/udpactl', 'sbom.cdx.json'} <= first.keys())
    check('both install the same files', first.keys() == second.keys(), first.keys() ^ second.keys())
    different = [path for path in first if first[path] != second[path]]
    check(f'all {len(first)} have the same bytes', not different, different)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
