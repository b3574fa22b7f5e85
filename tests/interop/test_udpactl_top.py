#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl top: one block of a node with a client that does not answer; a line of JSON for each interval until SIGINT;
and on a terminal one block over the other, in which nothing of a client reaches the terminal as it is."""
import json
import os
import pty
import re
import signal
import subprocess
import sys

import interop
from interop import check, wait_for
from test_udpactl_wait import Client
from udpactl import GOOD, Ctl, write_cluster

MISTAKE, NO_CONNECTION = 2, 3
NAME = 'bad\x1b[31mclient'


def start(test):
    path = test.work / 'node.json'
    path.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}],
                                'http': {'sockets': [{'address': '127.0.0.1:0'}]}}), encoding='utf-8')
    node = interop.Node(test, 'node', port=None, bootstrap=path)
    return node, '127.0.0.1:' + re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*(?:REST|HTTP)', node.text())[1]


def check_once(test, ctl, http):
    text = ctl('top', '--http', http, '--once')
    check('it has rates, times, streams and the worst client', all(re.search(pattern, text, re.M) for pattern in (
        r'^deliveries +[\d.]+ +[1-9]\d*$', r'^propagation p99 ', r'^STREAMS  .*xds-sotw 1', r'^bad\?\[31mclient ')))
    said = json.loads(ctl('top', '--http', http, '--once', '-o', 'json'))
    check(f'the same as JSON: {said}', said['seconds'] >= 0.9 and said['streams']['xds-sotw'] == 1 and
          said['clients'][0]['client'] == NAME and said['clients'][0]['notAnswered'] == 1)
    ctl('top', 'x', '--http', http, status=MISTAKE)
    ctl('top', '--interval', '0', '--http', http, status=MISTAKE)
    ctl('status', '--once', status=MISTAKE)
    dead, = interop.free_ports(1)
    ctl('top', '--once', '--http', f'127.0.0.1:{dead}', status=NO_CONNECTION)


def check_changes(test, ctl, http, client):
    """What is delivered and acknowledged while it looks is in the rates of a later line."""
    process = ctl.start('top', '--http', http, '-o', 'json')
    lines = iter(process.stdout.readline, '')
    check('a line is an object', json.loads(next(lines))['perSecond'])
    client.answer(client.take())
    ctl('apply', '-f', write_cluster(test, 'a.json', 'a', '2s'))
    client.answer(client.take())
    seen = next(line for line in map(json.loads, lines) if line['perSecond']['acks'] > 0)
    check(f'then it is: {seen}', seen['perSecond']['deliveries'] >= 0)
    process.send_signal(signal.SIGINT)
    check('SIGINT ends it, and well', process.wait(30) == GOOD)


def check_terminal(ctl, http):
    primary, secondary = pty.openpty()
    process = subprocess.Popen([str(part) for part in [*ctl.command, 'top', '--http', http]],
                               stdout=secondary, env={**os.environ, 'TERM': 'xterm'})
    os.close(secondary)
    text = b''

    def read():
        nonlocal text
        text += os.read(primary, 65536)
        return text.count(b'\x1b[H') >= 2 and text.count(b'\x1b[J') >= 2
    wait_for('two blocks', read)
    process.send_signal(signal.SIGTERM)
    check('SIGTERM ends it', process.wait(30) == GOOD)
    check('the screen is cleared once', text.startswith(b'\x1b[2J\x1b[H') and text.count(b'\x1b[2J') == 1)
    check('nothing of the client changes the terminal', b'\x1b[31m' not in text and b'bad?[31mclient' in text)
    os.close(primary)


def body(test):
    node, http = start(test)
    ctl = Ctl(test, node)
    ctl('apply', '-f', write_cluster(test, 'a.json', 'a', '1s'))
    client = Client(node.address, NAME, False)
    wait_for('it is sent something', lambda: not client.inbox.empty())
    check_once(test, ctl, http)
    check_terminal(ctl, http)
    check_changes(test, ctl, http, client)
    client.close()
    node.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
