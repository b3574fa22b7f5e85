#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page /events: Server-Sent Events of the node and of a sink, by HTTP/1.1 and HTTP/2, where a client goes on, who may,
what a client that does not read costs, and how all of it ends."""
import argparse
import base64
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from product import PATIENCE_S, Failure, LocalConnection, check, main, wait_for
from xds_client import Call, field

TOKEN = 'f' * 32
LOGS = '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs'
RING = 200
MANY = 600
READERS = 64
PATIENCE_LONG_S = 60 # on a machine that is busy


class Reader:
    """Of HTTP/1.1, by a unix socket; it reads when it is asked to."""

    def __init__(self, path, query='', **headers):
        self.connection = LocalConnection(path)
        self.connection.request('GET', f'/events{query}', headers={
            name.replace('_', '-'): value for name, value in headers.items()})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.rest, self.events = '', []

    def read_until(self, what, found):
        """Events until one of them is @found."""
        end = time.monotonic() + PATIENCE_LONG_S
        while time.monotonic() < end:
            piece = self.response.read1(65536).decode()
            if not piece:
                raise Failure(f'{what}: the node has ended it: {self.rest[-1000:]}')
            *blocks, self.rest = (self.rest + piece).split('\n\n')
            new = events_in(blocks)
            self.events += new
            for event in new:
                if found(event):
                    return event
        raise Failure(f'{what} was not seen in {len(self.events)} events')

    def close(self):
        self.connection.close()


def events_in(blocks):
    """(id, kind, data) of each."""
    found = []
    for block in blocks:
        lines = [line.split(': ', 1) for line in block.splitlines() if not line.startswith(':')]
        values = {key: value for key, value in lines if key != 'data'}
        data = [json.loads(value) for key, value in lines if key == 'data']
        if data:
            found.append((values.get('id'), values['event'], data))
    return found


def kind_of(event):
    return event[2][0].get('entry', {}).get('kind')


class Node:
    def __init__(self, test):
        self.file = test.work / 'node.json'
        self.config = {'node': {'id': 'node'}, 'sockets': [{'address': '127.0.0.1:0'}],
                       'store': {'in_memory': True}, 'sinks': [{'kind': 'ACCESS_LOG', 'max_entries': RING}],
                       'admin': {'sockets': [{'address': f'unix:{test.work}/admin.sock'}]}}
        self.socket = str(test.work / 'admin.sock')
        self.write(self.config)
        self.process = test.start('node', [test.build / 'udpad', '-c', self.file])
        self.address = re.search(r'listening on ([\d.:]+)', self.process.wait_for_log('listening on '))[1]
        self.process.wait_for_log('admin socket unix:')

    def write(self, config):
        self.file.write_text(json.dumps(config), encoding='utf-8')

    def reload(self, is_good):
        self.write(self.config if is_good else {**self.config, 'nodes': 1})
        self.process.process.send_signal(signal.SIGHUP)


def check_stream(node):
    reader = Reader(node.socket, '?kind=node')
    check('it goes on', (reader.status, reader.response.getheader('content-type'),
                         reader.response.getheader('transfer-encoding')) ==
          (200, 'text/event-stream', 'chunked'), reader.response.headers)
    node.reload(False)
    first = reader.read_until('a failure', lambda event: kind_of(event) == 'RELOAD_FAILED')
    check('an event has an id and its kind', re.fullmatch(r'\d+\.\d+', first[0]) and first[1] == 'node', first)
    node.reload(True)
    second = reader.read_until('a reload', lambda event: kind_of(event) == 'RELOADED')
    check('ids count', int(second[0].split('.')[1]) > int(first[0].split('.')[1]), (first, second))
    reader.close()
    return first, second


def check_resume(node, first, second):
    reader = Reader(node.socket, '?kind=node', Last_Event_ID=first[0])
    next_one = reader.read_until('what follows', lambda event: True)
    check('it goes on behind the last', next_one[0] == second[0] or
          int(next_one[0].split('.')[1]) == int(first[0].split('.')[1]) + 1, next_one)
    reader.close()
    reader = Reader(node.socket, '', Last_Event_ID=f'node={first[0]}')
    event = reader.read_until('of all kinds', lambda found: True)
    check('an id of more kinds names them', event[0].startswith('node='), event)
    reader.close()
    reader = Reader(node.socket, '?kind=node', Last_Event_ID='1.99999999')
    check('one of another start begins anew', reader.read_until('all', lambda event: True)[0].endswith('.1'))
    reader.close()


def check_curl(test, node, second, *options):
    """Until the event is there."""
    log = test.work / 'curl.log'
    log.unlink(missing_ok=True)
    curl = test.start('curl', ['curl', '--silent', '--no-buffer', '--show-error', *options, '--unix-socket', node.socket,
                               '--output', log, 'http://localhost/events?kind=node'])
    wait_for('curl has the event', lambda: log.exists() and f'id: {second[0]}\n' in log.read_text())
    check(f'curl reads it {options}', curl.process.poll() is None)
    test.interrupt(curl)


def send_logs(node, n, size):
    """Returns when the node has taken all of them."""
    with Call(node.address, LOGS) as call:
        for i in range(n):
            node_part = field(1, field(1, field(1, 'edge')) + field(2, 'ingress')) if i == 0 else b''
            entry = field(2, field(1, field(3, field(3, f'/{i}/' + 'x' * size))))
            call.say(node_part + entry)
        call.ping()


def count_logs(events):
    """(events, lost)"""
    lost = sum(line['lost'] for _, _, data in events for line in data if 'lost' in line)
    return sum(1 for event in events if event[0]), lost


def check_slow(node):
    """It reads late: what it has missed is counted."""
    reader = Reader(node.socket, '?kind=access-log')
    send_logs(node, MANY, 2000)

    def is_last(event):
        # As JSON where the node knows the type, else as bytes.
        wanted, first = f'/{MANY - 1}/', event[2][0]
        return wanted in json.dumps(first) or wanted.encode() in base64.b64decode(first.get('base64', ''))
    reader.read_until('all of them, or their number', is_last)
    got, lost = count_logs(reader.events)
    check('a slow reader has missed some, and knows how many', got + lost == MANY and lost > 0, (got, lost))
    reader.close()


def check_hanging(node):
    """It does not read at all."""
    hanging = socket.socket(socket.AF_UNIX)
    hanging.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    hanging.settimeout(PATIENCE_S)
    hanging.connect(node.socket)
    hanging.sendall(b'GET /events?kind=access-log HTTP/1.1\r\nHost: localhost\r\n\r\n')
    send_logs(node, RING, 5000)
    good = Reader(node.socket, '?kind=access-log')
    good.read_until('the others have theirs', lambda event: count_logs([event])[0])
    good.close()
    began = time.monotonic()
    wait_for('the node has cut it', lambda: number_of_readers(node) == 0, 90)
    check('after a while', time.monotonic() - began > 5, time.monotonic() - began)
    hanging.close()


def number_of_readers(node):
    """By the status of the sink."""
    connection = LocalConnection(node.socket)
    connection.request('GET', '/stats')
    text = connection.getresponse().read().decode()
    connection.close()
    return int(re.search(r'admin_connections: (\d+)', text)[1]) - 1


def check_limits(node):
    readers = [Reader(node.socket, '?kind=node') for _ in range(READERS)]
    check('so many may follow', all(reader.status == 200 for reader in readers))
    more = Reader(node.socket, '?kind=node')
    check('and no more', more.status == 503 and '64 clients' in more.response.read().decode())
    for reader in readers:
        reader.close()
    more.close()
    wait_for('they have left', lambda: number_of_readers(node) == 0)
    for query, status, part in (('?kind=nodes', 400, 'access-log'), ('?kind=tap', 400, 'no sink'), ('?x', 400, 'kind=KIND')):
        wrong = Reader(node.socket, query)
        text = wrong.response.read().decode()
        check(f'{query} is wrong', wrong.status == status and part in text, text)
        wrong.close()


def check_token(test):
    (test.work / 'token').write_text(TOKEN)
    (test.work / 'token').chmod(0o600)
    file = test.work / 'token.json'
    file.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}], 'store': {'in_memory': True}, 'admin': {
        'sockets': [{'address': '127.0.0.1:0'}], 'token_file': str(test.work / 'token')}}))
    node = test.start('token', [test.build / 'udpad', '-c', file])
    port = re.search(r'admin socket [\d.]+:(\d+)', node.wait_for_log('admin socket'))[1]
    for headers, status in ((), 401), (('--header', f'Authorization: Bearer {TOKEN}'), 200):
        done = subprocess.run(['curl', '--silent', '--max-time', '2', *headers, '--output', '/dev/null', '--write-out',
                               '%{http_code}', f'http://127.0.0.1:{port}/events'], capture_output=True, text=True,
                              check=False)
        check(f'{headers}: {status}', done.stdout == str(status), done.stdout)
    check('it ends', test.interrupt(node) == 0)


def body(test):
    node = Node(test)
    first, second = check_stream(node)
    check_resume(node, first, second)
    if shutil.which('curl'):
        check_curl(test, node, second, '--http1.1')
        check_curl(test, node, second, '--http2-prior-knowledge')
        check_token(test)
    check_limits(node)
    check_slow(node)
    check_hanging(node)
    last = Reader(node.socket, '?kind=node')
    began = time.monotonic()
    node.process.process.send_signal(signal.SIGINT)
    text = last.response.read().decode()
    check('a reader has the end', 'shutting down' in text, text)
    check('the node ends with a reader', node.process.process.wait(PATIENCE_S) == 0 and
          time.monotonic() - began < 10)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
