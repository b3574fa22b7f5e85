#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The log of a node, in each form and at each place: what a hostile client is called reaches programs whole
and terminals harmless, a file is rotated, a full disk and a journald that is away lose nothing unseen."""
import argparse
import array
import fcntl
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys

from product import Failure, check, main, need_descriptors, wait_for
from xds_client import CLUSTER, Client, Ended

ID_MAX = 512 # bytes of a node id
# What terminals obey, and what turns the direction of text.
HOSTILE = '\x1b[2J\x1b]0;root\x07\u009b31m\u202e\u2066\u2028\r\n\t"\\='
HOSTILE += '\x1b' * (ID_MAX - len(HOSTILE.encode()))
CALM = 'calm client'
VISITS = 6 # of both workers, as far as chance goes
HIDDEN = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')
TEXT_LINE = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error) [\w-]+: .')
TIME = re.compile(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$')
PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^ "]*)(?: |$)')
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def visit(test, address, node_id, why):
    """Comes, rejects a cluster, and goes: three lines."""
    with Client(address, node_id) as client:
        client.reject(why)
        try:
            client.ping()
        except Ended:
            raise Failure('the node has ended the stream of a client that sends a NACK') from None


# ---- a node ----

def start(test, name, log, **more):
    """(process, address)"""
    whole = {'node': {'id': name}, 'store': {'in_memory': True},
             'sockets': [{'address': '127.0.0.1:0'}], 'log': log, **more}
    file = test.work / f'{name}.json'
    file.write_text(json.dumps(whole), encoding='utf-8')
    process = test.start(name, [test.build / 'udpad', '-c', file])
    line = process.wait_for_log('listening on ')
    address = re.search(r'listening on ([^\s,]+)', line).group(1)
    cluster = {'@type': CLUSTER, 'name': 'one', 'connect_timeout': '1s'}
    ctl(test, address, 'apply', '-f', '-', given=json.dumps(cluster))
    return process, address


def ctl(test, address, *arguments, given=None):
    done = subprocess.run([test.build / 'udpactl', '--server', address, *arguments], input=given, text=True,
                          capture_output=True, check=False, timeout=30)
    if done.returncode:
        raise Failure(f'{arguments}: {done.stdout}{done.stderr}')
    return done.stdout


def read(path):
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b''


def whole_lines(data):
    """Decoded, which fails for what is not UTF-8; the last may be half written."""
    return data[:data.rfind(b'\n') + 1].decode().splitlines()


def lines_about(path, parse, peer):
    """Those of a visit, by their first word; None until all are there."""
    found = {}
    for line in whole_lines(read(path)):
        parsed = parse(line)
        if parsed.get('peer') == peer:
            found[parsed['message'].split(':')[0]] = parsed
    return found if len(found) == 3 else None


# ---- the forms ----

def parse_logfmt(line):
    pairs, at = {}, 0
    while at < len(line):
        match = PAIR.match(line, at)
        if not match:
            raise Failure(f'not logfmt at {at}: {line}')
        key, value = match.groups()
        pairs[key] = json.loads(value) if value.startswith('"') else value
        at = match.end()
    return pairs


def check_harmless(what, text):
    found = HIDDEN.search(text)
    check(f'{what} has nothing that a terminal obeys', not found, repr(text[max(0, found.start() - 80):][:200])
          if found else '')


def check_form(test, name, log_format, parse):
    """In a file: every line is read back, and a value is what the client has sent."""
    path = test.work / f'{name}.log.d' / 'log'
    path.parent.mkdir()
    node, address = start(test, name, {'to': str(path), 'format': log_format})
    visit(test, address, HOSTILE, f'no {HOSTILE}')
    lines = wait_for('the lines of the hostile client', lambda: lines_about(path, parse, HOSTILE))
    check(f'{log_format}: a client comes, rejects, goes', set(lines) == {'connected', 'NACK', 'disconnected'}, lines)
    nack = lines['NACK']
    host = nack['address'].rsplit(':', 1)[0]
    check(f'{log_format}: fields of a NACK',
          (nack['type'], nack['name'], nack['code'], host, nack['level'], nack['module']) ==
          (CLUSTER, 'local/one', 'INVALID_ARGUMENT', '127.0.0.1', 'info', 'client') and nack['version'] and
          TIME.match(nack['time']), nack)
    check_harmless(log_format, read(path).decode())
    test.interrupt(node)
    last = parse(whole_lines(read(path))[-1])
    check(f'{log_format}: what is written last is there when the node has ended',
          last['message'].endswith('shutting down'), last)


def check_text(test):
    node, address = start(test, 'text', {})
    visit(test, address, HOSTILE, HOSTILE)
    visit(test, address, CALM, 'no')
    node.wait_for_log(f"disconnected: node '{CALM}'")
    lines = [line for line in node.text().splitlines() if ' client: ' in line]
    check('TEXT: each line has time, level and module', len(lines) >= 6 and all(map(TEXT_LINE.match, lines)), lines)
    check_harmless('TEXT', '\n'.join(lines))
    check('TEXT: a line is what it was', any(
        re.search(rf"Z info client: NACK: node '{CALM}', peer 127\.0\.0\.1:\d+, identity -: type {CLUSTER}, name "
                  r"'local/one', version '\w+', nonce \w+: invalid argument: no( \(\d+ ms ago\))?$", line) for line in lines), lines)


# ---- a file ----

def check_rotation(test):
    """With workers: their lines are in the same file, before and after."""
    path, old = test.work / 'rotated', test.work / 'rotated.1'
    node, address = start(test, 'rotation', {'to': str(path), 'format': 'JSON'}, workers=2)
    for number in range(VISITS):
        visit(test, address, f'before {number}', 'no')
    for number in range(VISITS):
        wait_for('lines of workers', lambda: lines_about(path, json.loads, f'before {number}'))
    path.rename(old)
    node.process.send_signal(signal.SIGUSR1)
    wait_for('a new file', path.exists)

    def all_of_new(prefix):
        """Each process opens its own: until then its lines are in the old one."""
        def look():
            visit(test, address, f'{prefix} client', 'no')
            lines = [json.loads(line) for line in whole_lines(read(path))]
            return [line for line in lines if line.get('peer') == f'{prefix} client']
        return wait_for('lines in the new file', look)

    all_of_new('after')
    size = old.stat().st_size
    for number in range(VISITS):
        visit(test, address, f'then {number}', 'no')
    for number in range(VISITS):
        wait_for('lines in the new file', lambda: lines_about(path, json.loads, f'then {number}'))
    check('nothing is added to the file that was renamed', old.stat().st_size == size)
    check('and what it has stays', lines_about(old, json.loads, 'before 0'))
    test.interrupt(node)


def limit_file(node, size):
    resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def check_full_disk(test):
    path = test.work / 'full'
    node, address = start(test, 'full', {'to': str(path), 'format': 'JSON'})
    visit(test, address, 'first', 'no')
    wait_for('lines', lambda: lines_about(path, json.loads, 'first'))
    limit_file(node, path.stat().st_size + 10)
    for number in range(20):
        visit(test, address, f'lost {number}', 'no')
    node.wait_for_log('cannot be written, so lines of the log are lost: File too large')
    check('no piece of a line is in the file', read(path).endswith(b'}\n'))
    ctl(test, address, 'status')
    limit_file(node, resource.RLIM_INFINITY)
    visit(test, address, 'again', 'no')
    wait_for('lines', lambda: lines_about(path, json.loads, 'again'))
    lines = [json.loads(line) for line in whole_lines(read(path))]
    returns = [line for line in lines if 'can be written again' in line['message']]
    check('once, it reports how many were lost', len(returns) == 1 and
          int(re.search(r'again; (\d+) lines', returns[0]['message']).group(1)) >= 20, returns)
    check('and on standard error that they are',
          node.text().count('lines of the log are lost') == 1, node.text())
    test.interrupt(node)


def check_full_device(test):
    if not os.access('/dev/full', os.W_OK):
        return
    node, address = start(test, 'device', {'to': '/dev/full'})
    visit(test, address, 'lost', 'no')
    node.wait_for_log('/dev/full: cannot be written, so lines of the log are lost: No space left on device')
    status = test.interrupt(node)
    check('a node with a full disk ends as another', status == 0, status)
    node.wait_for_log(' lines of the log were lost')


def check_no_file(test):
    file = test.work / 'nowhere.json'
    file.write_text(json.dumps({'store': {'in_memory': True}, 'log': {'to': '/proc/no/log'}}), encoding='utf-8')
    done = subprocess.run([test.build / 'udpad', '-c', file], capture_output=True, text=True, check=False, timeout=30)
    check('a log that cannot be written is an error of the start', done.returncode and
          '/proc/no/log' in done.stderr, done.stderr)


# ---- journald ----

class Journald:
    """The socket, and the records that come: lists of (key, value)."""

    def __init__(self, path):
        self.path = path
        self.n_files = 0
        self.records = []
        self.begin()

    def begin(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.setblocking(False)

    def end(self):
        self.socket.close()
        self.path.unlink()

    def read_file(self, control):
        number = array.array('i')
        number.frombytes(control[0][2][:4])
        file = number[0]
        try:
            seals = fcntl.fcntl(file, fcntl.F_GET_SEALS)
            check('a large record is a sealed file', seals == SEALS, seals)
            self.n_files += 1
            return os.pread(file, os.fstat(file).st_size, 0)
        finally:
            os.close(file)

    def read(self):
        while True:
            try:
                data, control, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(4))
            except BlockingIOError:
                return self.records
            if control:
                data = self.read_file(control)
            pairs = [line.split('=', 1) for line in data.decode().removesuffix('\n').split('\n')]
            check('a record has fields alone', all(len(pair) == 2 for pair in pairs), pairs)
            self.records.append(dict(pairs))

    def wait_for(self, what, **expected):
        return wait_for(what, lambda: next((record for record in self.read() if
                                            all(word in record.get(key, '') for key, word in expected.items())), None))


def check_journald(test):
    path = test.work / 'journal.socket'
    journald = Journald(path)
    node, address = start(test, 'journald', {'to': 'journald', 'journald_socket': str(path)}, workers=1)
    visit(test, address, CALM, 'no')
    nack = journald.wait_for('a NACK', MESSAGE='NACK: ', UDPA_PEER=CALM)
    check('journald receives fields', (nack['PRIORITY'], nack['SYSLOG_IDENTIFIER'], nack['UDPA_MODULE'],
                                       nack['UDPA_TYPE'], nack['UDPA_NAME'], nack['UDPA_CODE']) ==
          ('6', 'udpad', 'client', CLUSTER, 'local/one', 'INVALID_ARGUMENT'), nack)
    check('and no place in the code', not any(key.startswith('CODE_') for key in nack), nack)
    visit(test, address, HOSTILE, HOSTILE)
    journald.wait_for('the hostile NACK', MESSAGE='NACK: ', UDPA_PEER='root')
    connected = journald.wait_for('the hostile client', MESSAGE='connected: ', UDPA_PEER='root')
    check('a value is what the client has sent',
          json.loads('"' + connected['UDPA_PEER'].replace('"', '\\"') + '"') == HOSTILE, connected)
    check_harmless('journald', ''.join(value for record in journald.records for value in record.values()))
    check('large records came', journald.n_files > 0)
    check('and nothing is on standard error', ' client: ' not in node.text(), node.text())

    journald.end()
    visit(test, address, 'elsewhere', 'no')
    node.wait_for_log("disconnected: node 'elsewhere'")
    check('a journald that is away is reported once', node.text().count('journald takes no lines') == 1, node.text())
    journald.begin()
    visit(test, address, 'returned', 'no')
    journald.wait_for('the next client', MESSAGE='connected: ', UDPA_PEER='returned')
    returns = [record for record in journald.records if 'journald takes lines again' in record['MESSAGE']]
    check('and its return, with how many have gone elsewhere', len(returns) == 1 and
          int(re.search(r'again; (\d+) have gone to', returns[0]['MESSAGE']).group(1)) >= 3, returns)
    test.interrupt(node)
    journald.end()


def body(test):
    need_descriptors(test)
    if test.arguments.variant == 'forms':
        check_text(test)
        check_form(test, 'json', 'JSON', json.loads)
        check_form(test, 'logfmt', 'LOGFMT', parse_logfmt)
    elif test.arguments.variant == 'files':
        check_rotation(test)
        check_full_disk(test)
        check_full_device(test)
        check_no_file(test)
    else:
        check_journald(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('forms', 'files', 'journald')))
