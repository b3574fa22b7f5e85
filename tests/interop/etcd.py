# SPDX-License-Identifier: Apache-2.0
"""Clusters of etcd on loopback: Debian's, which is old, and a current one built from its Go modules.
A member is killed, stopped and started by its own process."""
import json
import os
import pathlib
import queue
import shutil
import subprocess
import threading

import interop
from interop import SOURCE, Failure, Process, alone, free_ports, wait_for

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN = SOURCE / 'build' / 'etcd-debian'
PATIENCE_S = 30


def unpack_debian(package, pattern):
    """The file of a package of Debian, and why there is none. Unpacked, not installed: the package of etcd's
    server would start one."""
    with alone('etcd-debian'):
        found, error = next(DEBIAN.glob(pattern), None), ''
        if not found:
            DEBIAN.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(['apt-get', 'download', '-q', package], cwd=DEBIAN, text=True,
                                  capture_output=True, check=False)
            error = done.stderr.strip()[-300:]
            files = list(DEBIAN.glob(f'{package}_*.deb'))
            if done.returncode == 0 and files:
                subprocess.run(['dpkg-deb', '-x', files[0], DEBIAN], check=True)
                found = next(DEBIAN.glob(pattern), None)
    return found, error


def debian_or_skip(package, program):
    found, error = unpack_debian(package, f'usr/bin/{program}')
    return found or interop.skip(f'there is no {package}: {error}')


def program_or_skip(test, variant):
    if variant == 'debian':
        return debian_or_skip('etcd-server', 'etcd')
    return interop.go_program_or_skip(HERE / 'go-etcd', test.build / 'etcd-current')


def snapshot_program_or_skip(test, variant):
    """What restores snapshots of that etcd; its first words."""
    if variant == 'debian':
        return [debian_or_skip('etcd-client', 'etcdctl'), 'snapshot']
    return [interop.go_program_or_skip(HERE / 'go-etcdutl', test.build / 'etcdutl-current')]


class Member(Process):
    def __init__(self, cluster, name):
        self.name = name
        super().__init__(cluster.command(name), cluster.test.work / f'{name}.log')
        cluster.test.processes.append(self)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill() # also one that is stopped
        self.process.wait()


class Cluster:
    """Members m0, m1, …, whose data survives their processes."""

    def __init__(self, test, program, count=3, options=(), tls=None):
        self.test, self.program, self.options, self.tls = test, program, options, tls
        ports = free_ports(2 * count)
        names = [f'm{n}-{ports[0]}' for n in range(count)]
        self.client_port = dict(zip(names, ports[:count]))
        self.peer_port = dict(zip(names, ports[count:]))
        self.names = names
        self.prepare()
        self.members = {name: Member(self, name) for name in names}
        self.wait_ready()

    def command(self, name):
        scheme = 'https' if self.tls else 'http'
        client = f'{scheme}://127.0.0.1:{self.client_port[name]}'
        peer = f'http://127.0.0.1:{self.peer_port[name]}'
        others = ','.join(f'{one}={self.advertised(one)}' for one in self.peer_port)
        tls = ['--cert-file', self.tls['certificate'], '--key-file', self.tls['key'],
               '--trusted-ca-file', self.tls['authorities'], '--client-cert-auth'] if self.tls else []
        return [self.program, '--name', name, '--data-dir', self.test.work / f'{name}.etcd',
                '--listen-client-urls', client, '--advertise-client-urls', client,
                '--listen-peer-urls', peer, '--initial-advertise-peer-urls', self.advertised(name),
                '--initial-cluster', others, '--initial-cluster-token', self.names[0],
                '--initial-cluster-state', self.state(name),
                '--heartbeat-interval', '100', '--election-timeout', '1000',
                '--logger', 'zap', '--log-level', 'warn', *tls, *self.options]

    def prepare(self):
        """Names and ports are known, and nothing runs yet."""

    def advertised(self, name):
        """Where the others find it."""
        return f'http://127.0.0.1:{self.peer_port[name]}'

    def state(self, _name):
        """Of the cluster, when the member begins without data."""
        return 'new'

    @property
    def endpoints(self):
        return [f'127.0.0.1:{port}' for port in self.client_port.values()]

    def ctl(self, *words, status=0, names=None):
        """etcdctl, at these members; its standard output."""
        scheme = 'https' if self.tls else 'http'
        at = ','.join(f'{scheme}://127.0.0.1:{self.client_port[name]}' for name in names or self.names)
        tls = ['--cacert', self.tls['authorities'], '--cert', self.tls['root_certificate'],
               '--key', self.tls['root_key']] if self.tls else []
        done = subprocess.run([debian_or_skip('etcd-client', 'etcdctl'), '--endpoints', at, *tls,
                               *map(str, words)], text=True, capture_output=True, check=False,
                              env={**os.environ, 'ETCDCTL_API': '3'}, timeout=PATIENCE_S)
        if done.returncode != status:
            raise Failure(f'etcdctl {words}: {done.returncode}: {done.stdout}{done.stderr}')
        return done.stdout

    def is_ready(self):
        for name, member in self.members.items():
            if member.process.poll() is not None:
                raise Failure(f'{name} has ended: {member.text()[-2000:]}')
        try:
            self.ctl('endpoint', 'health', names=list(self.members))
        except Failure:
            return False
        return True

    def wait_ready(self):
        wait_for('a healthy etcd', self.is_ready, PATIENCE_S)

    def leader(self):
        """Its name."""
        for name, member in self.members.items():
            if member.process.poll() is not None:
                continue
            try:
                text = self.ctl('endpoint', 'status', '-w', 'json', names=[name])
            except (Failure, subprocess.TimeoutExpired):
                continue
            for one in json.loads(text):
                status = one['Status']
                if status['header']['member_id'] == status.get('leader'): # none: it is not there
                    return name
        return None

    def start(self, name):
        self.members[name] = Member(self, name)

    def restore(self, program, snapshot, token, *more):
        """All members begin with it, under their names, without what they had."""
        for member in self.members.values():
            member.kill()
        for name in self.names:
            folder = self.test.work / f'{name}.etcd'
            shutil.rmtree(folder)
            words = [*program, 'restore', snapshot, '--name', name, '--data-dir', folder, '--initial-cluster',
                     ','.join(f'{one}={self.advertised(one)}' for one in self.names),
                     '--initial-cluster-token', token,
                     '--initial-advertise-peer-urls', self.advertised(name), *more]
            done = subprocess.run([*map(str, words)], text=True, capture_output=True, check=False,
                                  env={**os.environ, 'ETCDCTL_API': '3'}, timeout=PATIENCE_S)
            if done.returncode:
                raise Failure(f'the snapshot is not restored: {done.stdout}{done.stderr}')
        for name in self.names:
            self.start(name)
        self.wait_ready()


class Driver:
    """etcd-driver: the client of udpad, on a command line."""

    def __init__(self, test, endpoints, user='', password='', tls=()):
        self.log = test.work / f'driver-{len(test.processes)}.log'
        self.errors = open(self.log, 'wb')
        self.process = subprocess.Popen(
            [test.build / 'tests' / 'interop' / 'etcd-driver', ','.join(endpoints), user, password,
             *tls], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        test.processes.append(self)
        self.next_id = 0
        self.answers = {}  # by id: a queue
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            one = json.loads(line)
            self.answers.setdefault(one['id'], queue.Queue()).put(one)

    def begin(self, verb, *words, number=None):
        """Gives an order; its number."""
        if number is None:
            self.next_id += 1
            number = self.next_id
            self.answers[number] = queue.Queue()
        self.process.stdin.write('\t'.join(map(str, [verb, number, *words])) + '\n')
        self.process.stdin.flush()
        return number

    def take(self, number, patience_s=PATIENCE_S):
        """The next answer to this order."""
        try:
            return self.answers[number].get(timeout=patience_s)
        except queue.Empty:
            raise Failure(f'order {number} was not answered within {patience_s} s') from None

    def __call__(self, verb, *words):
        return self.take(self.begin(verb, *words))

    def end(self):
        """In good order, with what is under way."""
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        text = self.log.read_text(encoding='utf-8')
        if self.process.returncode != 0 or any(mark in text for mark in interop.SANITIZER_MARKS):
            raise Failure(f'the driver ended with {self.process.returncode}: {text[-3000:]}')

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.errors.close()
