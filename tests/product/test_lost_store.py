#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node whose disk has lost its database does not start as if it had never had one; --force has it go on,
and the status says what was lost, until the next start."""
import argparse
import subprocess
import sys

from product import check, main
from test_wipe import names, publish, run

def status_of(test, address):
    return run(test, '--server', address, 'status', '-o', 'json')


def start_in_vain(test, data):
    return subprocess.run([test.build / 'udpad', '--listen', '127.0.0.1:0', '--node-id', 'node', '--state',
                           data], text=True, capture_output=True, check=False, timeout=60)


def kill_and_lose(node, files):
    node.kill()
    for path, content in files.items():
        path.write_bytes(content)


def check_loss(test, data, words):
    refused = start_in_vain(test, data)
    check('the node does not start', refused.returncode == 1 and words in refused.stderr and
          '--force' in refused.stderr, refused.stderr)
    node, address = test.start_node('node', '--force')
    problems = status_of(test, address)
    check('with --force it does, and says what was lost', words in problems, problems)
    publish(test, address, 'later')
    node.kill()
    node, address = test.start_node('node')
    check('from the next start on all is well', words not in status_of(test, address))
    check('with what has come since', names(test, address) == {'later'})
    return node


def body(test):
    data = test.work / 'node-data'
    node, address = test.start_node()
    publish(test, address, 'first')
    log = data / 'udpa.db-wal'
    kill_and_lose(node, {log: bytes(log.stat().st_size)})
    node = check_loss(test, data, 'udpa.db-wal has')
    kill_and_lose(node, {data / 'udpa.db': b'', log: b''})
    node = check_loss(test, data, 'udpa.db is empty, although')
    check('SIGINT ends it', test.interrupt(node) == 0)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
