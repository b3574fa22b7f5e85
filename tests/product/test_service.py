#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit of systemd: that it is one, that what it takes from the node leaves little, and that a node runs with
what it leaves. And --not-dumpable, which it gives. What a node notifies the service manager of: this test is one.
hung: a worker that hangs ends the beats for the watchdog. systemd: the same with systemd itself, as far as it runs here."""
import argparse
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from product import PATIENCE_S, Failure, Skipped, check, main

EXPOSURE_MAX = 1.5 # of 10, by systemd-analyze
DRAIN_S = 3 + 20 # the defaults of drain_delay and drain_time
SYSTEMD = 'systemd-analyze'
NEEDS = ('Type=notify', 'WatchdogSec=', 'ExecReload=/bin/kill -HUP $MAINPID', 'CapabilityBoundingSet=', 'SystemCallFilter=', 'RestrictAddressFamilies=', 'ProtectKernelTunables=yes',
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
    stop_s = int(re.search(r'^TimeoutStopSec=(\d+)$', text, re.M)[1])
    check('a drain has the time that it takes', stop_s > DRAIN_S, stop_s)
    check('the program is where it is installed', 'ExecStart=/' in text and '@' not in
          re.sub('@system-service|@privileged', '', text), text)
    if not shutil.which(SYSTEMD):
        print(f'{SYSTEMD} is not there: the unit is not looked at by it')
        return
    found = analyze('verify', '--man=no', unit_here(test))
    complaints = [line for line in found.stderr.splitlines() if 'udpad.service' in line]
    check('systemd can read it', found.returncode == 0 and not complaints, found.stderr)
    found = analyze('security', '--no-pager', '--offline=yes', str(test.build / 'udpad.service'))
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


# ---- the service manager ----

class Manager:
    """A socket that a node notifies, by its address."""

    def __init__(self, address):
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind('\0' + address[1:] if address.startswith('@') else address)

    def receive(self, wait_s=PATIENCE_S):
        """The variables of the next datagram; without one, None."""
        self.socket.settimeout(wait_s)
        try:
            lines = self.socket.recv(65536).decode().splitlines()
        except TimeoutError:
            return None
        return dict(line.split('=', 1) for line in lines)

    def wait_for(self, what, expected, but=()):
        """The first datagram that has this; before it none of the others."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = self.receive() or {}
            if any(name in found for name in but):
                raise Failure(f'{what}: {found}')
            if expected(found):
                check(what, True)
                return found
        raise Failure(f'{what}: it was not notified of that')


def start_notifying(test, name, manager, watchdog_s, **more):
    whole = {'node': {'id': name}, 'store': {'in_memory': True}, 'sockets': [{'address': '127.0.0.1:0'}], **more}
    file = test.work / f'{name}.json'
    file.write_text(json.dumps(whole), encoding='utf-8')
    return test.start(name, ['env', f'NOTIFY_SOCKET={manager.address}',
                             f'WATCHDOG_USEC={round(watchdog_s * 1e6)}', test.build / 'udpad', '-c', file])


def check_notifying(test):
    manager = Manager(str(test.work / 'notify'))
    with socket.socket() as silent: # nothing answers: the port is the test's, and never listens
        silent.bind(('127.0.0.1', 0))
        node = start_notifying(
            test, 'notifying', manager, 0.6,
            timing={'sync_timeout': '2s', 'backoff_max': '0.5s', 'drain_delay': '0.1s', 'drain_time': '0.1s'},
            static_resources={'config_sources': [
                {'name': 'core', 'udpa': {'address': f'127.0.0.1:{silent.getsockname()[1]}'}}]},
            providers=[{'types': ['envoy.config.cluster.v3.Cluster'],
                        'config_descriptors': [{'resource_name': 'core'}]}])
        found = manager.wait_for('a node reports what it waits for',
                                 lambda found: 'waiting for source core' in found.get('STATUS', ''), ('READY',))
        check('it is not ready', found['STATUS'].startswith('not ready: 0 streams, 0 resources; '), found)
        manager.wait_for('it asks for more time', lambda found: found.get('EXTEND_TIMEOUT_USEC') == '30000000',
                         ('READY',))
        found = manager.wait_for('it is ready once it has waited', lambda found: found.get('READY') == '1')
    found = manager.wait_for('the watchdog is fed', lambda found: found.get('WATCHDOG') == '1')
    check('a node that is ready needs no more time', 'EXTEND_TIMEOUT_USEC' not in found, found)
    before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    node.process.send_signal(signal.SIGHUP)
    found = manager.wait_for('SIGHUP reloads', lambda found: found.get('RELOADING') == '1')
    check('since then', int(found['MONOTONIC_USEC']) >= before_us, found)
    manager.wait_for('then it is ready again', lambda found: found.get('READY') == '1')
    node.process.send_signal(signal.SIGTERM)
    found = manager.wait_for('SIGTERM stops it', lambda found: found.get('STOPPING') == '1')
    check('it drains', found.get('STATUS', '').startswith('shutting down: 0 streams'), found)
    check('and has the time for it', found.get('EXTEND_TIMEOUT_USEC') == '30000000', found)
    check('it ends', node.process.wait(PATIENCE_S) == 0)


def check_interrupted(test):
    """By an abstract socket, as in a container."""
    manager = Manager(f'@udpa-service-{os.getpid()}')
    node = start_notifying(test, 'interrupted', manager, 30, workers=2)
    found = manager.wait_for('a node without sources is ready', lambda found: found.get('READY') == '1')
    check('and reports that', found.get('STATUS', '').startswith('ready: 0 streams'), found)
    node.process.send_signal(signal.SIGINT)
    manager.wait_for('SIGINT stops it', lambda found: found.get('STOPPING') == '1')
    check('it ends', node.process.wait(PATIENCE_S) == 0)


def check_hung(test):
    manager = Manager(str(test.work / 'notify'))
    node = start_notifying(test, 'hung', manager, 3, workers=2)
    manager.wait_for('it is ready', lambda found: found.get('READY') == '1')
    manager.wait_for('the watchdog is fed', lambda found: found.get('WATCHDOG') == '1')
    pid = node.process.pid
    second = max(int(child) for child in
                 pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii').split())
    os.kill(second, signal.SIGSTOP)
    found = manager.wait_for('a worker that hangs is reported',
                             lambda found: re.match(r'worker \d has not turned', found.get('STATUS', '')))
    check('without a beat', 'WATCHDOG' not in found, found)
    manager.wait_for('for as long as the watchdog waits',
                     lambda found: re.search(r'for (1[4-9]|2\d) s', found.get('STATUS', '')), ('WATCHDOG',))
    check('the log has it', 'the service manager is not notified any more' in node.text(), node.text())
    os.kill(second, signal.SIGCONT)
    manager.wait_for('with the worker the beats come again', lambda found: found.get('WATCHDOG') == '1')
    check('it ends', test.interrupt(node) == 0)


# ---- systemd itself ----

MANAGER = '/lib/systemd/systemd'
# Shorter than what the node takes to start and to stop: it asks for more.
UNIT = """
[Service]
Type=notify
TimeoutStartSec=2
TimeoutStopSec=2
WatchdogSec=3
ExecStart={program} -c {file}
ExecReload=/bin/kill -HUP $MAINPID
"""
# In mounts and processes of its own, none of which is left: systemd asks by a directory whether it has started the machine.
SCRIPT = """
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
{manager} --user >{work}/systemd.log 2>&1 &
manager=$!
state() {{ systemctl --user show udpad -p ActiveState,Result,StatusText,MainPID | tr '\\n' ' '; echo; }}
looks=0
until systemctl --user is-system-running 2>/dev/null | grep -qE 'running|degraded'; do
    kill -0 $manager && [ $((looks += 1)) -lt 600 ] || exit 77
    sleep 0.1
done
echo "started $(systemctl --user start udpad && state)"
echo "reloaded $(systemctl --user reload udpad && state)"
echo "stopped $(systemctl --user stop udpad && state)"
systemctl --user start udpad
kill -STOP $(systemctl --user show udpad -p MainPID --value)
looks=0
while systemctl --user is-active udpad >/dev/null && [ $((looks += 1)) -lt 600 ]; do sleep 0.1; done
echo "hung $(state)"
kill $manager
wait $manager
"""


def check_systemd(test):
    if os.getuid() != 0 or not pathlib.Path(MANAGER).exists():
        raise Skipped('this needs root and systemd')
    folder = test.work / 'systemd' / 'user'
    folder.mkdir(parents=True)
    folder.parent.parent.chmod(0o700)
    with socket.socket() as silent:
        silent.bind(('127.0.0.1', 0))
        file = test.work / 'managed.json'
        file.write_text(json.dumps({
            'store': {'in_memory': True}, 'sockets': [{'address': '127.0.0.1:0'}],
            'timing': {'sync_timeout': '5s', 'drain_delay': '5s'},
            'static_resources': {'config_sources': [
                {'name': 'core', 'udpa': {'address': f'127.0.0.1:{silent.getsockname()[1]}'}}]},
            'providers': [{'types': ['envoy.config.cluster.v3.Cluster'],
                           'config_descriptors': [{'resource_name': 'core'}]}]}), encoding='utf-8')
        (folder / 'udpad.service').write_text(UNIT.format(program=test.build / 'udpad', file=file), encoding='utf-8')
        script = SCRIPT.format(manager=MANAGER, work=test.work)
        found = subprocess.run(['unshare', '--mount', '--pid', '--mount-proc', '--kill-child', 'sh', '-c', script],
                               text=True, capture_output=True, check=False, timeout=100,
                               env={**os.environ, 'XDG_RUNTIME_DIR': str(test.work)})
    if found.returncode == 77:
        raise Skipped(f'systemd does not run here: {(test.work / "systemd.log").read_text()}')
    reported = dict(line.split(' ', 1) for line in found.stdout.splitlines())
    check('a start that waits for a source is longer than TimeoutStartSec, and has the state in the end',
          'ActiveState=active' in reported['started'] and 'StatusText=degraded: 0 streams' in reported['started'], found)
    check('reload returns', 'ActiveState=active' in reported['reloaded'], found)
    check('a drain is longer than TimeoutStopSec', 'ActiveState=inactive' in reported['stopped'] and
          'Result=success' in reported['stopped'], found)
    check('what hangs is ended', 'Result=watchdog' in reported['hung'], found)


def body(test):
    if test.arguments.variant == 'systemd':
        check_systemd(test)
        return
    if test.arguments.variant == 'hung':
        check_hung(test)
        return
    if not pathlib.Path(test.build / 'udpad.service').exists():
        raise Skipped('there is no unit')
    check_unit(test)
    check_not_dumpable(test)
    check_notifying(test)
    check_interrupted(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('unit', 'hung', 'systemd')))
