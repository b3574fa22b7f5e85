#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl bench with udpad: the figures are those of what it was told to do, and what goes wrong is
told of, with the exit status."""
import argparse
import json
import os
import pathlib
import pty
import re
import resource
import socket
import subprocess
import sys
import threading
import time

from product import check, main

MISTAKE, NO_CONNECTION, TIMED_OUT, REFUSED = 2, 3, 4, 1
PATIENCE_S = 60
SMALL = ('--streams', '6', '--resources', '50', '--changes', '20')


class Bench:
    """Calls udpactl bench at one server."""

    def __init__(self, test, address, *options):
        self.command = [str(part) for part in
                        (test.build / 'udpactl', '--server', address, 'bench', *options)]

    def __call__(self, *arguments, status=0, err='', **more):
        """Its standard output; its exit status and a part of its standard error must be these."""
        words = ' '.join(str(argument) for argument in arguments)
        done = subprocess.run([*self.command, *map(str, arguments)], text=True, check=False,
                              capture_output=True, timeout=PATIENCE_S, **more)
        check(f'bench {words}: exit status {status}', done.returncode == status,
              f'{done.returncode}: {done.stdout}{done.stderr}')
        check(f'  and says …{err}…' if err else '  and complains of nothing',
              err in done.stderr if err else not done.stderr, done.stderr)
        return done.stdout

    def figures(self, *arguments):
        """As JSON: one object on one line."""
        line = self(*arguments, '-o', 'json')
        check('  one line of JSON', line.count('\n') == 1, line)
        return json.loads(line)


def expect(what, figures, **wanted):
    """Figures at paths, whose keys have __ between them."""
    for path, value in wanted.items():
        found = figures
        for key in path.split('__'):
            found = found.get(key) if isinstance(found, dict) else None
        check(f'  {what}: {path.replace("__", ".")} is {value}', found == value, figures)


def start_node(test, name, bootstrap):
    """udpad with this bootstrap; its address."""
    whole = {'node': {'id': name}, 'store': {'in_memory': True}, 'log': {'level': 'WARNING'},
             'shim': {'namespaces': ['com.acme']}, 'sockets': [{'address': '127.0.0.1:0'}],
             **bootstrap}
    file = test.work / f'{name}.json'
    file.write_text(json.dumps(whole), encoding='utf-8')
    node = test.start(name, [test.build / 'udpad', '-c', file])
    line = node.wait_for_log('listening on ')
    return node, re.search(r'listening on ([^\s,]+)', line).group(1)


# ---- figures ----

def check_protocols(test):
    node, address = start_node(test, 'protocols', {})
    bench, pid = Bench(test, address), node.process.pid
    for protocol in ('delta', 'sotw', 'udpa'):
        told = bench.figures('--publish', '--protocol', protocol, '--pid', pid, *SMALL)
        expect(protocol, told, protocol=protocol, streams=6, connections=6, resources=50, tls=False,
               publish__n=50, sync__resources=300, changes__n=20, changes__complete=20,
               changes__deliveries=120, errors=0, reconnect=None)
        changes, memory = told['changes'], told['memory']
        check('  times are in order', 0 < changes['p50_us'] <= changes['p99_us'] <=
              changes['max_us'] <= changes['ms'] * 1000 and
              changes['p50_us'] <= changes['last_p50_us'] <= changes['max_us'], changes)
        check('  the server was measured', told['sync']['server_cpu_ms'] > 0 and
              changes['server_cpu_s_per_million'] > 0, told)
        check('  memory too', 1000 < memory['begin_kb'] <= memory['synced_kb'] and
              memory['end_kb'] > 1000, memory)
        check('  all of it came', told['sync']['bytes'] > 300 * (300 if protocol == 'delta' else 250)
              and changes['bytes'] > 120 * 300, told)


def bench_of(test, name):
    """Of a node of its own, that has nothing."""
    _, address = start_node(test, name, {})
    return Bench(test, address)


def check_names(test):
    """Each resource is asked for by one or two of the streams."""
    bench = bench_of(test, 'names')
    for protocol in ('delta', 'sotw', 'udpa'):
        told = bench.figures('--publish', '--protocol', protocol, '--names', 10, *SMALL)
        expect(protocol, told, names=10, sync__resources=60)
        n = sum(2 if serial % 50 < 10 else 1 for serial in range(1, 21))
        expect(protocol, told, changes__deliveries=n, changes__complete=20)
    told = bench.figures('--publish', '--protocol', 'udpa', '--namespaces', 3, *SMALL)
    expect('namespaces', told, namespaces=3, publish__n=50, sync__resources=100,
           changes__deliveries=40, changes__complete=20)
    told = bench.figures('--publish', '--protocol', 'udpa', '--namespaces', 5,
                         '--namespaces-each', 2, '-n', 'org.acme', *SMALL)
    expect('several of the namespaces', told, namespaces_each=2, sync__resources=120)


def check_plain_names(test):
    _, address = start_node(test, 'plain-names', {'shim': {'default_namespace': 'com.acme'}})
    for protocol in ('delta', 'sotw'):
        told = Bench(test, address).figures('-n', 'com.acme', '--publish', '--names', 5,
                                            '--plain-names', '--protocol', protocol, *SMALL)
        expect('names without their namespace', told, sync__resources=30, changes__complete=20)


def check_connections(test):
    bench = bench_of(test, 'connections')
    told = bench.figures('--publish', '--connections', 2, *SMALL)
    expect('several streams on a connection', told, connections=2, connect__connections=2,
           sync__resources=300, changes__deliveries=120)
    told = bench.figures('--publish', '--rate', 200, '--seconds', 0.5, '--streams', 3,
                         '--changes', 1000)
    n = told['changes']['n']
    check('  --seconds may be a part of one', 20 <= n <= 110 and told['changes']['complete'] == n,
          told)
    told = bench.figures('--publish', '--together', 20, '--receipts', *SMALL)
    expect('several in a change: 20 of 50, then 10 that are left', told, changes__n=20,
           receipts__n=20, changes__complete=20)
    n = sum(6 * min(20, 50 - serial * 20 % 50) for serial in range(1, 21))
    expect('  each of them is a delivery', told, changes__deliveries=n)
    times = told['receipts']
    check('  receipts have times in order', 0 < times['p50_us'] <= times['p99_us'] <= times['max_us']
          and 0 <= times['visible_p50_us'] <= times['visible_p99_us'], told)
    told = bench.figures('--publish', *SMALL)
    expect('receipts are not asked for of themselves', told, receipts=None)
    told = bench.figures('--publish', '--depth', 5, *SMALL)
    expect('several on the way', told, changes__n=20, changes__deliveries=120)


def check_reconnect(test):
    bench = bench_of(test, 'reconnect')
    for protocol in ('delta', 'udpa'):
        told = bench.figures('--publish', '--reconnect', '--protocol', protocol, *SMALL)
        expect(f'{protocol}: what is held is not sent again', told, reconnect__resources=0,
               changes__n=20, changes__deliveries=120, changes__complete=20)
        told = bench.figures('--publish', '--reconnect', '--changes', 0, '--protocol', protocol,
                             *SMALL[:4])
        expect(f'{protocol}: nor without changes before', told, reconnect__resources=0, changes=None)


def check_slow(test):
    """Only those that read count, but what slow ones have read is bytes."""
    bench = bench_of(test, 'slow')
    slow = ('--publish', '--slow', 2, '--streams', 5, '--size', 20000, '--resources', 10,
            '--changes', 40)
    silent = bench.figures(*slow)
    expect('without slow ones', silent, slow=2, sync__resources=50, changes__deliveries=120,
           changes__complete=40, slow_bytes_per_s=None)
    rate = ('--rate', 20, '--slow-rate', 100000)
    told = bench.figures(*slow, *rate)
    expect('with a rate', told, slow_bytes_per_s=100000, changes__deliveries=120)
    more = told['changes']['bytes'] - silent['changes']['bytes']
    most = 2 * 100000 * told['changes']['ms'] / 1000
    check('  slow ones read on, and slowly', 0.5 * most < more < 1.2 * most, (silent, told))
    told = bench.figures(*slow, '--reconnect')
    expect('and are back behind a reconnect', told, reconnect__resources=0)


def sessions_at(test, address):
    """What the node says of each stream, by the id of the peer's node."""
    told = subprocess.run([test.build / 'udpactl', '--server', address, 'status', 'sessions', '-o',
                           'json'], capture_output=True, check=True, timeout=PATIENCE_S)
    sessions = [one['resource'] for one in json.loads(told.stdout)]
    return {one.get('peerNodeId', ''): one for one in sessions}


def progress_of(session):
    """How much it was sent, and how much of that it has not acknowledged."""
    subscription = session.get('subscriptions', [{}])[0]
    sent = int(subscription.get('nResourcesSent', 0))
    return sent, sent - int(subscription.get('nAcknowledged', 0))


def check_who(test):
    """While one reads nothing, the node tells which one, since when, and who makes the changes."""
    _, address = start_node(test, 'who', {})
    command = [test.build / 'udpactl', '--server', address, 'bench', '--publish', '--slow', '1',
               '--streams', '4', '--resources', '10', '--rate', '200', '--seconds', '60',
               '--changes', '100000']
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as load:
        try:
            end = time.monotonic() + PATIENCE_S
            behind = 0
            while behind < 200 and time.monotonic() < end:
                sessions = sessions_at(test, address)
                behind = max((progress_of(one)[1] for one in sessions.values()), default=0)
        finally:
            load.terminate()
            load.wait(PATIENCE_S)
    streams = {name: one for name, one in sessions.items() if one['protocol'] == 'xds-delta'}
    slow = [name for name, one in streams.items() if progress_of(one)[1] >= 200]
    check('one of four has not acknowledged', len(streams) == 4 and len(slow) == 1, sessions)
    subscription = streams[slow[0]]['subscriptions'][0]
    check('  since when', subscription['unansweredSince'] and subscription['nUnanswered'], sessions)
    check('  the others have', all(progress_of(one)[1] < 100 for name, one in streams.items()
                                   if name != slow[0]), sessions)
    received = {name: int(one.get('nResourcesReceived', 0)) for name, one in sessions.items()}
    loud = [name for name, n in received.items() if n >= 200]
    check('  and who makes the changes', len(loud) == 1 and loud[0] not in streams, received)


def check_few(test):
    bench = bench_of(test, 'few')
    expect('no changes', bench.figures('--publish', '--keep', '--changes', 0), changes=None,
           sync__resources=100000)
    told = bench.figures('--idle', '--streams', 5, '--pid', os.getpid())
    expect('idle connections', told, connect__connections=5, sync=None, changes=None,
           memory__synced_kb=None, memory__end_kb=None)
    check('  have memory', told['memory']['connected_kb'] > 0, told)
    told = bench.figures('--streams', 2)
    check('as many resources as come', told['sync']['resources'] == 2000 and
          told['sync']['ms'] < 900, told)


def check_table(test):
    _, address = start_node(test, 'table', {})
    bench = Bench(test, address)
    table = bench('--publish', '--reconnect', *SMALL)
    for line in ('6 streams of delta xDS, each on a connection of its own',
                 'STEP +TIME +NUMBER +RECEIVED +SERVER CPU',
                 r'resources published +[\d.]+ [mu]?s +50 +- +-', r'connections +[\d.]+ [mu]?s +6 ',
                 r'first resources +[\d.]+ [mu]?s +300 +[\d.]+ [kM]B +-',
                 r'changes +[\d.]+ [mu]?s +20 ', r'resources behind a reconnect +[\d.]+ [mu]?s +0 ',
                 r'until a stream has one +120 +[\d.]+ [mu]?s +[\d.]+ [mu]?s +[\d.]+ [mu]?s',
                 r'until the last stream has it +20 ', '120 deliveries in .* a second',
                 r'CPU of a million deliveries: this client [\d.]+ s'):
        check(f'  a line {line}', re.search(f'^{line}', table, re.MULTILINE), table)
    check('  nothing of a server that was not measured', 'MEMORY' not in table, table)
    seen = on_terminal([test.build / 'udpactl', '--server', address, 'bench', '--publish', '--rate',
                        '20', '--seconds', '1.5', '--streams', '2', '--changes', '1000'])
    check('  on a terminal it says how far it is',
          2 <= len(re.findall(r'\r\x1b\[Kchanges: \d+ of 1000', seen)) <= 5 and
          seen.endswith('\r\x1b[K'), repr(seen))


def on_terminal(command):
    """What a program writes to standard error, if that is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                          stderr=theirs) as process:
        os.close(theirs)
        seen = b''
        try:
            while more := os.read(ours, 4096):
                seen += more
        except OSError:  # it was closed at the other end
            pass
        check('  and ends well', process.wait(PATIENCE_S) == 0, seen)
    os.close(ours)
    return seen.decode()


# ---- mutual TLS, and rules ----

def make_certificates(test):
    folder = test.work / 'ca'
    for name in ('server', 'bench', 'other'):
        subprocess.run([test.arguments.ca, folder, name], check=True, capture_output=True)
    return folder


def check_tls(test):
    ca = make_certificates(test)
    _, address = start_node(test, 'guarded', {
        'sockets': [{'address': '127.0.0.1:0', 'tls': {
            'certificate_file': str(ca / 'server.crt'), 'private_key_file': str(ca / 'server.key'),
            'client_ca_file': str(ca / 'ca.crt')}}],
        'acl': {'rules': [{'name': 'bench', 'identities': ['bench'], 'namespaces': ['com.acme'],
                           'actions': ['PUBLISH', 'SUBSCRIBE']}]}})
    def of(name):
        return Bench(test, address, '--ca', ca / 'ca.crt', '--cert', ca / f'{name}.crt', '--key',
                     ca / f'{name}.key')
    good, other = of('bench'), of('other')
    for protocol in ('delta', 'udpa'):
        told = good.figures('--publish', '--reconnect', '--protocol', protocol, *SMALL)
        expect('mutual TLS', told, tls=True, sync__resources=300, changes__deliveries=120,
               reconnect__resources=0)
    check('  and says so', 'with TLS' in good('--publish', *SMALL))
    other('--publish', *SMALL, status=REFUSED,
          err="what was published is refused: other may not publish 'com.acme/000000'")
    other('--protocol', 'udpa', '--resources', 5, status=REFUSED,
          err="the server refuses what is asked for: other may not subscribe")
    other('--resources', 5, '--streams', 3, '--timeout', 1, status=TIMED_OUT,
          err='of 3 streams 0 have all 5 resources')
    good('--server-name', 'elsewhere', '--streams', 2, status=NO_CONNECTION,
         err='TLS: hostname mismatch')
    Bench(test, address)('--streams', 2, status=NO_CONNECTION, err=f'{address}: connection ')
    Bench(test, address, '--ca', ca / 'server.key')(status=MISTAKE,
                                                    err='no certificates could be read')
    _, plain = start_node(test, 'plain', {})
    Bench(test, plain, '--ca', ca / 'ca.crt')('--streams', 1, status=NO_CONNECTION, err='TLS: ')


# ---- what goes wrong ----

class Stranger:
    """A server that is none of xDS: does something with each connection."""

    def __init__(self, answer):
        self.answer = answer
        self.server = socket.create_server(('127.0.0.1', 0))
        self.address = f'127.0.0.1:{self.server.getsockname()[1]}'
        self.kept = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.server.accept()
            if self.answer is None:
                connection.close()
                continue
            connection.sendall(self.answer)
            self.kept.append(connection)  # and is silent


def check_strangers(test):
    with socket.create_server(('127.0.0.1', 0)) as nobody:
        address = f'127.0.0.1:{nobody.getsockname()[1]}'
    for options in (('--streams', 3), ('--publish',), ('--control', address, '--changes', 1)):
        Bench(test, address)(*options, status=NO_CONNECTION,
                             err=f'{address}: cannot connect: Connection refused')
    Bench(test, 'nonsense')(status=NO_CONNECTION, err='write HOST:PORT')
    http1 = Stranger(b'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')
    for options in (('--streams', 3), ('--publish', '--streams', 3)):
        Bench(test, http1.address)(*options, status=NO_CONNECTION,
                                   err='the server does not speak HTTP/2')
    Bench(test, Stranger(None).address)('--streams', 3, status=NO_CONNECTION,
                                        err='the connection was closed by the server')
    silent = Stranger(b'')
    Bench(test, silent.address)('--streams', 3, '--timeout', 1, status=TIMED_OUT,
                                err='0 of 3 connections can be used, and for 1000 ms no more')
    Bench(test, silent.address)('--publish', '--timeout', 1, status=TIMED_OUT,
                                err='it does not answer')


def check_limits(test):
    """A server that carries fewer streams than it should, and a client that has too few files."""
    _, address = start_node(test, 'small', {'limits': {'max_streams': 4}})
    bench = Bench(test, address)
    bench('--publish', '--changes', 0, '--resources', 5, '--streams', 3)
    bench('--resources', 5, '--streams', 9, status=REFUSED,
          err='a stream was ended: gRPC status 8 (a limit was reached): this node serves 4 streams')
    bench = Bench(test, start_node(test, 'large', {})[1]) # that one takes few connections, too
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
    bench('--idle', '--streams', 150, status=MISTAKE, preexec_fn=few_files,
          err='150 connections take more files than this process may open (200)')
    def soft_limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (50, 1000))
    expect('the soft limit is raised', json.loads(bench(
        '--idle', '--streams', 100, '-o', 'json', preexec_fn=soft_limit)), connect__connections=100)


def check_mistakes(test):
    bench = Bench(test, '127.0.0.1:1')
    for options, err in (
            (('more',), 'bench takes no arguments'),
            (('--protocol', 'grpc'), 'delta, sotw and udpa'),
            (('--streams', 0), '--streams 0: give a number from 1'),
            (('--streams', '-1'), '--streams -1: give a number'),
            (('--seconds', 0), '--seconds 0: give a number above 0'),
            (('--rate', 'fast'), '--rate fast: give a number'),
            (('--pid', '1,x'), '--pid 1,x: give ids of processes'),
            (('-o', 'yaml'), 'bench has table and json'),
            (('--type', 'nonsense'), "'nonsense' is no type"),
            (('--type', 'cluster', '--publish'), 'those of --publish are endpoints'),
            (('--publish', '--publish-to', 'x:1'), 'give one of them'),
            (('--publish', '--control', 'x:1'), 'not both'),
            (('--streams', 3, '--connections', 4), 'more connections than streams'),
            (('--changes', 4), 'nobody changes resources'),
            (('--reconnect',), 'nobody changes resources'),
            (('--names', 4), 'how many resources there are must be known'),
            (('--names', 5, '--resources', 4), 'more names than there are resources'),
            (('--publish', '--slow', 3, '--streams', 3), 'some beside them that read'),
            (('--slow-rate', 3), '--slow'),
            (('--publish', '--rate', 1, '--depth', 2), '--rate or --depth'),
            (('--publish', '--idle', '--reconnect'), 'idle'),
            (('--publish', '--reconnect', '--protocol', 'sotw'), 'nothing is held'),
            (('--publish', '--namespaces', 2), '--protocol udpa'),
            (('--publish', '--namespaces-each', 2), 'is of --namespaces')):
        bench(*options, status=MISTAKE, err=err)
    done = subprocess.run([test.build / 'udpactl', 'get', '--streams', '3'], text=True,
                          capture_output=True, check=False)
    check('options of bench are not for others', done.returncode == MISTAKE and
          '--streams is for bench alone' in done.stderr, done)


def test_all(test):
    if test.arguments.variant == 'more':
        check_plain_names(test)
        check_reconnect(test)
        check_few(test)
        check_strangers(test)
        check_limits(test)
        check_mistakes(test)
        return
    check_protocols(test)
    check_names(test)
    check_connections(test)
    check_slow(test)
    check_who(test)
    check_table(test)
    check_tls(test)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--ca', type=pathlib.Path, required=True,
                        help='the script that makes certificates')
    sys.exit(main(parser, test_all, ('usual', 'more')))
