# SPDX-License-Identifier: Apache-2.0
"""A cluster of etcd beside the nodes that are measured: three members on loopback, with fsync."""
import base64
import json
import pathlib
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from programs import SOURCE, Failure, build_go, unpack_debian

MEMBERS = 3
HEARTBEAT_MS, ELECTION_MS = 100, 1000
PATIENCE_S = 30
PROBE_S = 0.4  # a member that has no leader answers later
KINDS = ('debian', 'current')


def program(kind):
    if kind == 'debian':
        return unpack_debian('etcd-server', 'usr/bin/etcd')
    return build_go('', SOURCE / 'tests' / 'interop' / 'go-etcd', 'etcd-current')


def version(kind):
    """Such as 3.4.23."""
    done = subprocess.run([program(kind), '--version'], text=True, capture_output=True, check=True)
    return done.stdout.split('\n', maxsplit=1)[0].rpartition(' ')[2]


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    try:
        for one in sockets:
            one.bind(('127.0.0.1', 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def text64(text):
    return base64.b64encode(text.encode()).decode()


class Member:
    def __init__(self, name, command, port, work):
        self.name, self.port = name, port
        self.log = work / f'{name}.log'
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)

    def ask(self, path, patience_s=PROBE_S, **request):
        """By its JSON interface; None: no answer."""
        question = urllib.request.Request(f'http://127.0.0.1:{self.port}/v3/{path}',
                                          json.dumps(request).encode())
        try:
            with urllib.request.urlopen(question, timeout=patience_s) as answer:
                return json.load(answer)
        except (OSError, ValueError, urllib.error.URLError):
            return None

    def is_leader(self):
        status = self.ask('maintenance/status') or {}
        return status.get('leader', '0') == status.get('header', {}).get('member_id')

    def put(self):
        """Does it take a write?"""
        return self.ask('kv/put', key=text64('/bench'), value=text64('x')) is not None

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Cluster:
    def __init__(self, kind, work):
        which = program(kind)
        ports = free_ports(2 * MEMBERS)
        names = [f'etcd-{i}' for i in range(MEMBERS)]
        peers = [f'http://127.0.0.1:{port}' for port in ports[MEMBERS:]]
        everybody = ','.join(f'{name}={peer}' for name, peer in zip(names, peers))
        self.members = []
        try:
            for name, port, peer in zip(names, ports, peers):
                client = f'http://127.0.0.1:{port}'
                self.members.append(Member(name, [
                    which, '--name', name, '--data-dir', pathlib.Path(work) / f'{name}.etcd',
                    '--listen-client-urls', client, '--advertise-client-urls', client,
                    '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer,
                    '--initial-cluster', everybody, '--heartbeat-interval', HEARTBEAT_MS,
                    '--election-timeout', ELECTION_MS, '--logger', 'zap', '--log-level', 'warn'],
                    port, work))
            self.wait_ready()
        except BaseException:
            self.end()
            raise

    def wait_ready(self):
        end = time.monotonic() + PATIENCE_S
        while not all(member.put() for member in self.members):
            if time.monotonic() > end:
                raise Failure(f'etcd is not ready: {self.members[0].log.read_text()[-500:]}')
            time.sleep(0.02)

    @property
    def endpoints(self):
        return [f'127.0.0.1:{member.port}' for member in self.members]

    def n_writes(self, prefix, part):
        """How often keys that begin so, and have this in them, were written since they were made."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        answer = self.members[0].ask('kv/range', PATIENCE_S, key=text64(prefix), range_end=text64(end),
                                     keys_only=True)
        if answer is None:
            raise Failure(f'etcd does not say what is below {prefix}')
        return sum(int(one['version']) for one in answer.get('kvs', [])
                   if part in base64.b64decode(one['key']).decode(errors='replace'))

    def kill_leader(self):
        """Returns a function that gives the milliseconds until the others took writes again."""
        leader = next((member for member in self.members if member.is_leader()), None)
        if not leader:
            raise Failure('etcd has no leader')
        others = [member for member in self.members if member is not leader]
        leader.process.kill()
        begin, took = time.monotonic(), []

        def probe():
            while not any(other.put() for other in others):
                if time.monotonic() - begin > PATIENCE_S:
                    return
                time.sleep(0.01)
            took.append(1000 * (time.monotonic() - begin))

        thread = threading.Thread(target=probe, daemon=True)
        thread.start()

        def wait():
            thread.join(PATIENCE_S + 1)
            if not took:
                raise Failure(f'etcd takes no writes {PATIENCE_S} s after its leader was killed')
            return took[0]
        return wait

    def end(self):
        for member in self.members:
            member.end()
