#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit of systemd: that it is one, that what it takes from the node leaves little, and that a node runs with
what it leaves. And --not-dumpable, which it gives."""
import argparse
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys

from product import Skipped, check, main

EXPOSURE_MAX = 2.0 # of 10, by systemd-analyze
SYSTEMD = 'systemd-analyze'
NEEDS = ('CapabilityBoundingSet=', 'SystemCallFilter=', 'RestrictAddressFamilies=', 'ProtectKernelTunables=yes',
         'ProtectKernelModules=yes', 'ProtectKernelLogs=yes', 'PrivateDevices=yes', 'LimitCORE=0',
         'NoNewPrivileges=yes', '--not-dumpable')


def analyze(*arguments):
    return subprocess.run([SYSTEMD, *arguments], text=True, capture_output=True, check=False)


def unit_here(test):
    """The unit with a program that is there, and a user."""
    text = (test.build / 'udpad.service').read_text()
    text = re.sub(r'ExecStart=\S+/udpad', f'ExecStart={test.build}/udpad', text)
    path = test.work / 'udpad.service'
    path.write_text(re.sub(r'^(User|Group)=udpa$', r'\1=root', text, flags=re.M))
    return path


def check_unit(test):
    text = (test.build / 'udpad.service').read_text()
    for part in NEEDS:
        check(f'the unit has {part}', part in text)
    check('the program is where it is installed', 'ExecStart=/' in text and '@' not in
          re.sub('@system-service|@privileged', '', text), text)
    if not shutil.which(SYSTEMD):
        print(f'{SYSTEMD} is not there: the unit is not looked at by it')
        return
    found = analyze('verify', '--man=no', unit_here(test))
    complaints = [line for line in found.stderr.splitlines() if 'udpad.service' in line]
    check('systemd can read it', found.returncode == 0 and not complaints, found.stderr)
    found = analyze('security', '--no-pager', '--offline=yes', str(unit_here(test)))
    level = float(re.search(r'Overall exposure level for .*: ([\d.]+)', found.stdout)[1])
    check(f'its exposure level is {level}', level <= EXPOSURE_MAX, found.stdout)


def is_sanitized(test):
    program = (test.build / 'udpad').read_bytes()
    return b'__asan_init' in program or b'__tsan_init' in program


def owner_of_memory(process):
    return os.stat(f'/proc/{process.process.pid}/environ').st_uid


def check_not_dumpable(test):
    """What may not be dumped belongs to root, which shows if the node does not run as root."""
    if os.getuid() != 0:
        print('this is not root: --not-dumpable is not looked at')
        return
    user = pwd.getpwnam('nobody')
    shutil.copy(test.build / 'udpad', test.work / 'udpad')
    test.work.chmod(0o755)
    for name, more, owner in (('open', (), user.pw_uid), ('closed', ('--not-dumpable',), 0)):
        data = test.work / f'{name}-data'
        data.mkdir()
        os.chown(data, user.pw_uid, user.pw_gid)
        process = test.start(name, ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups',
                                    test.work / 'udpad', '--listen', '127.0.0.1:0', '--state', data, *more])
        process.wait_for_log('listening on ')
        expected = user.pw_uid if is_sanitized(test) else owner
        check(f'{" ".join(("udpad", *more))}: its memory is of user {expected}',
              owner_of_memory(process) == expected, owner_of_memory(process))
        check('SIGINT ends it', test.interrupt(process) == 0)


def body(test):
    if not pathlib.Path(test.build / 'udpad.service').exists():
        raise Skipped('there is no unit')
    check_unit(test)
    check_not_dumpable(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
