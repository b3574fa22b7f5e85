#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""src/make-sbom: what it prints is CycloneDX by the schema of CycloneDX, the same each time, and has what the programs
load."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import roots
from product import SOURCE, check, main

# In the Python of .ci/venv sbom.
VALIDATE = '''
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read())
sys.exit(str(error) if error else 0)
'''


def make(test, epoch):
    return subprocess.run([SOURCE / 'src' / 'make-sbom', test.build], text=True, capture_output=True, check=True,
                          env={**os.environ, 'SOURCE_DATE_EPOCH': str(epoch)}).stdout


def validate(python, text):
    return subprocess.run([python, '-c', VALIDATE], input=text, text=True, capture_output=True, check=False)


def body(test):
    if subprocess.run(['sh', '-c', 'command -v dpkg-query'], capture_output=True, check=False).returncode:
        roots.skip('there is no dpkg')
    text = make(test, 86400)
    check('the same build has the same text', make(test, 86400) == text)
    found = json.loads(text)
    check('the time is SOURCE_DATE_EPOCH', found['metadata']['timestamp'] == '1970-01-02T00:00:00Z')
    purls = [component['purl'] for component in found['components']]
    check('nothing is there twice', len(set(purls)) == len(purls), purls)
    needed = subprocess.run(['ldd', test.build / 'udpad'], text=True, capture_output=True, check=True).stdout
    for library in ('libgrpc', 'libsqlite3', 'libuv', 'libcurl'):
        check(f'{library} is there, which udpad loads', library in needed and
              any(re.match(rf'pkg:deb/\w+/{library}[\d-]', purl) for purl in purls), purls)
    check('so is the source of the descriptors', any(purl.startswith('pkg:pypi/xds-protos@') for purl in purls))
    made = subprocess.run([SOURCE / '.ci' / 'venv', 'sbom'], text=True, capture_output=True, check=False)
    if made.returncode:
        roots.skip(f'the schema of CycloneDX cannot be had: {made.stderr[-600:]}')
    python = pathlib.Path(made.stdout.strip())
    done = validate(python, text)
    check('it is valid by the schema', done.returncode == 0, done.stderr[-2000:])
    check('what is not is an error', validate(python, text.replace('"components"', '"parts"')).returncode != 0)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
