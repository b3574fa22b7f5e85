# SPDX-License-Identifier: Apache-2.0
"""Clean roots of Debian, made by mmdebstrap from where apt gets packages here: in a user namespace, or as root."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / 'tests' / 'product'))

from product import Failure, Skipped  # noqa: E402

SUITE = 'bookworm'
SOURCES = pathlib.Path('/etc/apt/sources.list.d/debian.sources')


def skip(reason):
    """Aloud; where nothing may be missing it fails."""
    raise Failure(reason) if os.environ.get('UDPA_REQUIRE_PEERS') == '1' else Skipped(reason)


def mode():
    """Root needs no user namespace, and often has no numbers for one."""
    return 'root' if os.getuid() == 0 else 'unshare'


def build_needs():
    """What debian/control asks for."""
    text = (SOURCE / 'debian' / 'control').read_text()
    names = re.search(r'^Build-Depends:(.*?)^\S*$', text, re.M | re.S)[1]
    return [re.sub(r'\s*\(.*\)', '', name).strip() for name in names.split(',')]


def copy_source(to):
    """What git has, and what it would take."""
    names = subprocess.run(['git', 'ls-files', '-zco', '--exclude-standard'], cwd=SOURCE, check=True,
                           capture_output=True).stdout.decode().split('\0')
    for name in names:
        if name and (SOURCE / name).exists():
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, target, follow_symlinks=False)


def run(work, variant, packages, hooks):
    """Makes a root, does in it what the hooks do, and forgets it; what was printed meanwhile."""
    if not shutil.which('mmdebstrap'):
        skip('mmdebstrap is not installed')
    if not SOURCES.exists():
        skip(f'there is no {SOURCES}, which has where packages come from')
    log = work / f'{variant}.log'
    command = ['mmdebstrap', f'--mode={mode()}', f'--variant={variant}', '--aptopt=APT::Install-Recommends "false"',
               f'--include={",".join(packages)}', *(f'--customize-hook={hook}' for hook in hooks),
               SUITE, '/dev/null', str(SOURCES)]
    with open(log, 'wb') as output:
        status = subprocess.run(command, stdout=output, stderr=output, check=False).returncode
    text = log.read_text(errors='replace')
    if status and 'running --customize-hook' not in text and 'running special hook' not in text:
        skip(f'mmdebstrap cannot make a root here: {text[-1500:]}')
    return status, text
