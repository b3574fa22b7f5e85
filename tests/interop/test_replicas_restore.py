#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""etcd is restored from an older snapshot, or wiped: replicas write back what it lacks, and no client
receives anything; or an operator accepts what it has. Debian's etcd restores a snapshot, as another
cluster; the current one starts from copies of its directories, as the same, and then from a snapshot, at a
higher revision than before."""
import base64
import json
import queue
import shutil
import sys
import threading
import time
import urllib.request

import interop
import grpc
from interop import check, free_ports, run, wait_for

from etcd import Cluster, program_or_skip, snapshot_program_or_skip
from test_replicas import SECRET, STRING, WORD, Replica, command, expect_same, held, names, string, write
from udpa_peer import PREFIX
from xds_peer import Client

GRACE_S, PATIENCE_S = 10, 60


class Held(Replica):
    """It serves HTTP, too."""

    def __init__(self, test, cluster, name):
        self.test, self.cluster, self.name, self.more = test, cluster, name, {}
        self.port, self.http = free_ports(2)
        self.address = f'127.0.0.1:{self.port}'
        self.directory = test.work / f'{name}-data'
        interop.Process.__init__(self, [*command(test, cluster, name, self.port,
                                                 key_file=test.work / 'store.key'),
                                        '--http', f'127.0.0.1:{self.http}'], test.work / f'{name}.log')
        test.processes.append(self)
        self.wait_for_log('listening on ')

    def store(self, *words):
        return self.take('store', *words, '--admin', f'unix:{self.directory}/admin.sock')

    def state(self):
        return self.store('status').split()[1].rstrip(',')


class Onlooker:
    """A client that has all, and counts what it receives after that."""

    def __init__(self, replica):
        self.client, self.inbox = Client(replica.address), queue.Queue()
        self.client.send(STRING)
        self.client.answer(self.client.receive())
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                self.inbox.put(response)
        except grpc.RpcError:
            pass


class Etcd:
    """Goes back to what it was."""

    def __init__(self, test, cluster):
        self.test, self.cluster = test, cluster

    def directory(self, name):
        return self.test.work / f'{name}.etcd'

    def stop(self):
        for member in self.cluster.members.values():
            member.kill()

    def start(self):
        for name in self.cluster.names:
            self.cluster.start(name)
        self.cluster.wait_ready()

    def keep(self):
        if self.test.variant == 'debian':
            self.cluster.ctl('snapshot', 'save', self.test.work / 'snapshot.db',
                             names=self.cluster.names[:1])
            return
        self.stop()
        for name in self.cluster.names:
            shutil.copytree(self.directory(name), self.test.work / f'{name}.kept')
        self.start()

    def wipe(self):
        self.stop()
        for name in self.cluster.names:
            shutil.rmtree(self.directory(name))

    def restore(self):
        if self.test.variant == 'debian':
            self.restore_snapshot('snapshot.db', 'restored')
            return
        self.wipe()
        for name in self.cluster.names:
            shutil.copytree(self.test.work / f'{name}.kept', self.directory(name))
        self.start()

    def restore_snapshot(self, name, token, *more):
        self.cluster.restore(snapshot_program_or_skip(self.test, self.test.variant), self.test.work / name, token,
                             *more)


def wait_for_state(replicas, state, patience_s=PATIENCE_S):
    begin = time.monotonic()
    for one in replicas:
        wait_for(f'{one.name} to be {state}', lambda by=one: by.state() == state, patience_s)
    return time.monotonic() - begin


def check_held(test, replicas):
    wait_for_state(replicas, 'held')
    for one in replicas:
        text = wait_for('the difference', lambda by=one: (text := by.store('status')) and
                        'missing in etcd' in text and text, 10)
        check(f'{one.name} holds, and says what would be lost', 'would be lost: StringValue local/new' in text or
              print(text))
        check('  and what will be', 'next: ' in text or print(text))
    text = replicas[0].refuse('apply', '-f', write(test, 'held.yaml', string('held', 'x')))
    check('  and rejects publications', 'not committed, and nothing has changed' in text or print(text))
    for one in replicas:
        with urllib.request.urlopen(f'http://127.0.0.1:{one.http}/ready', timeout=5) as answer:
            check(f'  and {one.name} is ready, for it serves', answer.status == 200)
    status, text = replicas[0].ctl('store', 'reseal', '--admin', f'unix:{replicas[0].directory}/admin.sock')
    check('  and encrypts nothing anew', status and 'another' in text or print(text))
    text = replicas[0].take('status', 'replicas')
    check('  and status replicas shows it', 'Held: in etcd ' in text and 'StringValue local/new' in text or
          print(text))


def check_back(what, replicas, wanted, onlookers):
    took_s = wait_for_state(replicas, 'current')
    expect_same(f'{what}: after {took_s:.1f} s all replicas have what they had', replicas, wanted)
    received = sum(one.inbox.qsize() for one in onlookers)
    check('  and no client has received anything', received == 0 or print(received))


def check_secret(cluster, replicas):
    for one in replicas:
        with Client(one.address) as client:
            client.send(SECRET, ['password'])
            check(f'{one.name} serves the secret', WORD.encode() in client.receive().resources[0].resource.value)
    values = [base64.b64decode(kv.get('value', '')) for kv in
              json.loads(cluster.ctl('get', '--prefix', '', '-w', 'json'))['kvs']]
    check('  and etcd does not show it', not any(WORD.encode() in value for value in values))


def check_publishing(test, replicas, n):
    replicas[n % 3].take('apply', '-f', write(test, 'after.yaml', string(f'after-{n}', 'x')))
    return expect_same('what is published then is at all', replicas)


def check_bumped(test, etcd, replicas):
    """Neither the revision nor the cluster tells that it is older, and what was between is compacted."""
    cluster = etcd.cluster
    cluster.ctl('snapshot', 'save', test.work / 'bumped.db', names=cluster.names[:1])
    replicas[0].take('apply', '-f', write(test, 'new.yaml', string('new', '5')))
    wanted = expect_same('after another snapshot', replicas)
    onlookers = [Onlooker(one) for one in replicas]
    etcd.restore_snapshot('bumped.db', cluster.names[0], '--bump-revision', '1000000', '--mark-compacted')
    check_held(test, replicas)
    check_back('an older etcd with a higher revision', replicas, wanted, onlookers)
    check_publishing(test, replicas, 4)


def body(test):
    cluster = Cluster(test, program_or_skip(test, test.variant))
    etcd = Etcd(test, cluster)
    (test.work / 'store.key').write_text('5a' * 32 + '\n', encoding='ascii')
    (test.work / 'store.key').chmod(0o600)
    replicas = a, b, c = [Held(test, cluster, name) for name in 'abc']
    a.take('apply', '-f', write(test, 'first.yaml', string('kept', '1'), string('changed', '1')))
    b.take('apply', '-f', write(test, 'gone.yaml', string('gone', '1')))
    expect_same('before the snapshot', replicas)
    before = held(a)
    etcd.keep()
    wait_for_state(replicas, 'current')
    a.take('apply', '-f', write(test, 'second.yaml', string('changed', '2'), string('new', '2')))
    b.take('delete', STRING.removeprefix(PREFIX), 'gone')
    c.take('apply', '-f', write(test, 'many.yaml', *(string(f'many-{n}', str(n)) for n in range(100))))
    a.take('apply', '-f', write(test, 'secret.yaml', {'name': 'local/password', 'resource': {
        '@type': SECRET, 'name': 'password', 'generic_secret': {'secret': {'inline_string': WORD}}}}))
    wanted = expect_same('after it', replicas)

    onlookers = [Onlooker(one) for one in replicas]
    etcd.restore()
    check_held(test, replicas)
    check_back('an older etcd', replicas, wanted, onlookers)
    check_publishing(test, replicas, 1)
    check_secret(cluster, replicas)
    check('what was deleted stays so', not any('gone' in names(one) for one in replicas))

    wanted = expect_same('before etcd is wiped', replicas)
    onlookers = [Onlooker(one) for one in replicas]
    etcd.wipe()
    etcd.start()
    wait_for_state(replicas, 'held')
    check_back('an empty etcd', replicas, wanted, onlookers)
    wanted = check_publishing(test, replicas, 2)

    onlookers = [Onlooker(one) for one in replicas]
    etcd.restore()
    wait_for_state(replicas, 'held')
    b.store('push')
    took_s = wait_for_state(replicas, 'current')
    check(f'one is told to push, and does so in {took_s:.1f} s', took_s < GRACE_S)
    check_back('pushed', replicas, wanted, onlookers)

    etcd.restore()
    wait_for_state(replicas, 'held')
    wait_for('the difference', lambda: 'would be lost' in a.store('accept', '--dry-run'), 10)
    for one in replicas:
        one.store('accept')
    wait_for_state(replicas, 'current')
    expect_same('what etcd has is accepted at all', replicas)
    for one in replicas:
        check(f'  {one.name} has what the snapshot had', held(one) == before or print(held(one)))
    check_publishing(test, replicas, 3)
    status, text = a.ctl('store', 'push', '--admin', f'unix:{a.directory}/admin.sock')
    check('one that does not hold has nothing to decide', status and 'does not hold' in text or print(text))
    if test.variant == 'current':
        check_bumped(test, etcd, replicas)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, ('debian', 'current')))
