#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl explain --follow: once for each change, nothing in between, over a restart of the node, until SIGINT."""
import argparse
import json
import signal
import subprocess
import sys
import time

from product import Process, check, main, wait_for

TYPE = 'google.protobuf.StringValue'
QUIET_S = 4 # in which the node is asked some times


def ctl(test, address, *arguments, given=None):
    done = subprocess.run([str(part) for part in (test.build / 'udpactl', '--server', address, *arguments)],
                          input=given, text=True, capture_output=True, check=False, timeout=30)
    check(f'udpactl {" ".join(arguments)}', done.returncode == 0, done.stdout + done.stderr)


def publish(test, address, value):
    ctl(test, address, 'apply', '-f', '-', given=json.dumps(
        {'name': 'a', 'resource': {'@type': f'type.googleapis.com/{TYPE}', 'value': value}}))


def begin(test, name, address, *options):
    process = Process([str(part) for part in (test.build / 'udpactl', '--server', address, 'explain', TYPE, 'a',
                                              '--follow', *options)], test.work / f'{name}.log')
    test.processes.append(process)
    return process


def documents(process):
    return [json.loads(line) for line in process.text().splitlines() if line.startswith('{')]


def body(test):
    node, address = test.start_node('node')
    publish(test, address, 'one')
    lines, tables = begin(test, 'json', address, '-o', 'json'), begin(test, 'table', address)
    def is_shown(text):
        return text in tables.text().split('Z\n')[-1]
    wait_for('the first answer', lambda: documents(lines) and is_shown(' is served: '))
    first = documents(lines)[-1]
    check('it is served', first['isServed'] is True, first)
    version = first['contributions'][0]['version']
    time.sleep(QUIET_S)
    n_shown = len(documents(lines))
    time.sleep(QUIET_S)
    check('nothing is shown while nothing changes', len(documents(lines)) == n_shown, lines.text())
    publish(test, address, 'two')
    wait_for('a new version', lambda: documents(lines)[-1]['contributions'][0]['version'] != version)
    wait_for('in tables, too', lambda: is_shown(' is served: ') and not is_shown(version))
    ctl(test, address, 'delete', TYPE, 'a')
    wait_for('the removal', lambda: documents(lines)[-1]['isServed'] is False)
    wait_for('in tables, too', lambda: is_shown(' is not served: '))
    check('blocks have their times', tables.text().splitlines()[0].endswith('Z'), tables.text())
    for process in (lines, tables):
        process.process.send_signal(signal.SIGINT)
        check('it ends in peace', process.process.wait(20) == 0, process.text())
    check('the node ends', test.interrupt(node) == 0)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
