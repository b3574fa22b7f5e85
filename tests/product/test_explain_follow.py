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
    def n_blocks():
        return tables.text().count('Z\n')
    wait_for('the first answer', lambda: len(documents(lines)) == 1 and n_blocks() == 1)
    check('it is served', documents(lines)[0]['isServed'] is True, documents(lines))
    time.sleep(QUIET_S)
    check('nothing is shown while nothing changes', len(documents(lines)) == 1, lines.text())
    publish(test, address, 'two')
    wait_for('a new version', lambda: len(documents(lines)) == 2 and n_blocks() == 2)
    versions = [document['contributions'][0]['version'] for document in documents(lines)]
    check('it is another one', versions[0] != versions[1], versions)
    ctl(test, address, 'delete', TYPE, 'a')
    wait_for('the removal', lambda: documents(lines)[-1]['isServed'] is False)
    wait_for('in tables, too', lambda: n_blocks() == 3)
    check('blocks have their times', tables.text().splitlines()[0].endswith('Z'), tables.text())
    for process in (lines, tables):
        process.process.send_signal(signal.SIGINT)
        check('it ends in peace', process.process.wait(20) == 0, process.text())
    check('the node ends', test.interrupt(node) == 0)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
