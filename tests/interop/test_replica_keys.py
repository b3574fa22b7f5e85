#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The keys for secrets of replicas are changed while secrets are published: step by step as the guide
says, with nothing lost and nothing that clients notice. A replica that lacks a key is not ready, says
which one, and does not say of anything that it is not there."""
import base64
import hashlib
import json
import queue
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from interop import Failure, check, never, run, wait_for

import grpc
import udpactl
from etcd import Cluster, program_or_skip
from store_node import StoreNode
from xds_peer import CLUSTER, PREFIX, Client

SECRET = PREFIX + 'envoy.extensions.transport_sockets.tls.v3.Secret'
WORD = 'correct-horse-battery-staple'
PREFIX_KEY = '/udpa/keys'
SERVING, NOT_SERVING = 1, 2
QUIET_S = 2


class Replica(StoreNode):
    def __init__(self, test, cluster, name, keys, port=None):
        super().__init__(test, cluster, name, port)
        self.write_keys(keys)
        self.start()

    def write_keys(self, keys):
        self.write(PREFIX_KEY, {'user': 'udpa', 'password_file': str(self.test.work / 'etcd.password'),
                                'keys': [{'file': str(key)} for key in keys]},
                   static_resources={'directories': [{'path': str(self.test.work / 'files')}]})

    def set_keys(self, *keys):
        self.write_keys(keys)
        self.process.send_signal(signal.SIGHUP)
        wait_for(f'{self.name} with {len(keys)} keys', lambda: len(self.key_ids()) == len(keys), 10)

    def key_ids(self, of=None):
        return self.replicas().get((of or self).address, {}).get('keyIds', [])

    def health(self):
        with grpc.insecure_channel(self.address) as channel:
            return channel.unary_unary('/grpc.health.v1.Health/Check')(b'', timeout=10)[1]

    def page(self):
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.http}/ready', timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def write_key(test, name, byte):
    path = test.work / f'{name}.key'
    path.write_text(byte * 32 + '\n', encoding='ascii')
    path.chmod(0o600)
    return path


def secret_file(test, name, word):
    path = test.work / f'{name}.secret.yaml'
    path.write_text(json.dumps({'name': f'local/{name}', 'resource': {
        '@type': SECRET, 'name': name, 'generic_secret': {'secret': {'inline_string': word}}}}),
        encoding='utf-8')
    return path


class Subscriber:
    """A stream of xDS for one secret; all that comes on it."""

    def __init__(self, replica, name):
        self.client = Client(replica.address)
        self.seen = queue.Queue()
        self.client.send(SECRET, [name])
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                self.client.answer(response)
                self.seen.put(response)
        except grpc.RpcError:
            pass

    def next(self, word):
        response = self.seen.get(timeout=10)
        check(f'a client receives {word}', [WORD.encode() in one.resource.value
                                            for one in response.resources] == [True])

    def is_quiet(self, what):
        never(f'something for a client {what}', lambda: not self.seen.empty(), QUIET_S)


class Publisher(threading.Thread):
    """Publishes secrets at each replica in turn, as fast as it is given receipts."""

    def __init__(self, test, replicas):
        super().__init__(daemon=True)
        self.test, self.replicas, self.ended = test, replicas, threading.Event()
        self.last, self.failures, self.n = {}, [], 0
        self.start()

    def run(self):
        while not self.ended.is_set():
            name = f'busy-{self.n % 5}'
            at = self.replicas[self.n % len(self.replicas)]
            status, text = at.ctl('apply', '-f', secret_file(self.test, name, f'{WORD}-{self.n}'))
            if status:
                self.failures.append(text)
            self.last[name] = f'{WORD}-{self.n}'
            self.n += 1

    def end(self):
        self.ended.set()
        self.join()
        check(f'{self.n} secrets were published meanwhile, none rejected',
              self.n > 5 and not self.failures or print(self.failures[:3]))


def open_etcd(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), 1)
    password = test.work / 'etcd.password'
    password.write_text('word-of-etcd\n', encoding='ascii')
    password.chmod(0o600)
    for words in (('user', 'add', 'root:rootword'), ('user', 'add', 'udpa:word-of-etcd'),
                  ('role', 'add', 'udpa'), ('user', 'grant-role', 'root', 'root'),
                  ('role', 'grant-permission', '--prefix=true', 'udpa', 'readwrite', f'{PREFIX_KEY}/'),
                  ('user', 'grant-role', 'udpa', 'udpa'), ('auth', 'enable')):
        cluster.ctl(*words)
    return cluster


def read_etcd(cluster):
    listed = json.loads(cluster.ctl('--user', 'root:rootword', 'get', '--prefix', '', '-w', 'json'))
    return {base64.b64decode(kv['key']): base64.b64decode(kv.get('value', '')) for kv in listed['kvs']}


def check_rotation(test, cluster, old, new):
    a, b = (Replica(test, cluster, name, [old]) for name in 'ab')
    for one in (a, b):
        one.wait_for_log('listening on ')
    a.take('apply', '-f', secret_file(test, 'password', WORD), '-f',
           udpactl.write_cluster(test, 'one.json', 'one'))
    client = Subscriber(b, 'password')
    client.next('the secret')
    publisher = Publisher(test, (a, b))
    for one in (a, b):
        one.set_keys(old, new)
    wait_for('both with both keys', lambda: a.key_ids() == a.key_ids(b) and len(a.key_ids()) == 2, 10)
    ids = a.key_ids()
    a.set_keys(new, old)
    wait_for('the other one first', lambda: a.key_ids() == ids[::-1], 10)
    wait_for('that they differ in the status', lambda: 'has other store.keys' in b.take('status'), 10)
    b.set_keys(new, old)
    wait_for('that they do not', lambda: 'has other store.keys' not in b.take('status'), 10)
    before = sum(bytes.fromhex(ids[0]) in value for value in read_etcd(cluster).values())
    check(f'{before} secrets have the old key', before >= 1)
    asked = [subprocess.Popen([str(word) for word in (
        test.build / 'udpactl', '--server', one.address, '--admin', f'unix:{one.directory}/admin.sock', 'store',
        'reseal')], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for one in (a, b)]
    texts = [one.communicate(timeout=60)[0] for one in asked]
    check(f'store reseal at both: {texts}', not any(one.returncode for one in asked) and
          all(' 0 cannot be decrypted' in text for text in texts))
    publisher.end()
    text = b.take('store', 'reseal')
    check(f'  and once more: {text.strip()}', ': 0 encrypted anew, 0 cannot' in text)
    kvs = read_etcd(cluster)
    check('none has the old key', not any(bytes.fromhex(ids[0]) in value
                                          for key, value in kvs.items() if b'/m/' not in key))
    client.is_quiet('while all got another key')
    for one in (a, b):
        one.set_keys(new)
    for name, word in publisher.last.items():
        for one in (a, b):
            with Client(one.address) as reader:
                reader.send(SECRET, [name])
                check(f'{one.name} serves {name} as it was published last',
                      word.encode() in reader.receive().resources[0].resource.value)
    a.take('apply', '-f', secret_file(test, 'password', f'{WORD}-2'))
    client.next('what is published with the new key')
    return a, b, ids


def check_etcd(cluster, a):
    """Neither the text nor a digest of it."""
    texts = [f'{WORD}-2'.encode(), f'{WORD}-of-a-file'.encode(), *(one.resource.value for one in payloads(a))]
    versions = [one['version'] for one in json.loads(a.take('get', 'secret', '-o', 'json'))]
    a.take('delete', 'secret', 'busy-0') # of which a removal is remembered
    digests = [digest for text in texts for digest in (
        hashlib.sha256(text).digest(), hashlib.sha256(text).hexdigest().encode(),
        hashlib.md5(text).digest(), hashlib.sha1(text).digest())]
    digests += [version.encode() for version in versions] + [bytes.fromhex(one) for one in versions]
    kvs = read_etcd(cluster)
    check('etcd has contributions, and a removal', all(any(
        f'{PREFIX_KEY}/{kind}/'.encode() in key for key in kvs) for kind in 'cf'))
    for key, value in kvs.items():
        if any(one[:8] in key or one[:8] in value for one in texts + digests):
            raise Failure(f'{key}: {value}')
    check(f'no key and no value of etcd has a secret, nor one of {len(digests)} digests',
          len(versions) == 7)


def payloads(a):
    with Client(a.address) as client:
        client.send(SECRET, ['password', 'filed'])
        return list(client.receive().resources)


def check_lacking(test, cluster, a, old, new, ids):
    """A fresh one, which has the old key alone."""
    c = Replica(test, cluster, 'c', [old])
    c.wait_for_log('this replica is not ready: ')
    c.wait_for_log('listening on ')
    check('  and which key it lacks', ids[1] in c.text())
    wait_for('a health check that says so', lambda: c.health() == NOT_SERVING, 10)
    status, text = c.page()
    check(f'so does /ready: {text.strip()}', status == 503 and ids[1] in text)
    check('A is ready', a.health() == SERVING and a.page() == (200, 'ready\n'))
    wait_for('the key in the status of A', lambda: a.replicas().get(c.address, {}).get(
        'missingKeyIds') == [ids[1]], 10)
    check('  in words, too', f'lacks key {ids[1]}' in a.take('status', 'replicas') and
          'not ready' in a.take('status', 'replicas'))
    with Client(c.address) as client:
        client.send(CLUSTER)
        check('it serves all else', client.receive().resources)
    waiting = Subscriber(c, 'password')
    waiting.is_quiet('of what it cannot decrypt')
    status, text = c.ctl('apply', '-f', secret_file(test, 'password', f'{WORD}-3'))
    check(f'it rejects what is about that: {text.strip()}', status and ids[1] in text)
    c.set_keys(old, new)
    waiting.next('it once the key is there')
    wait_for('a health check that it is ready', lambda: c.health() == SERVING, 10)
    c.set_keys(old)
    wait_for('a health check that a key was removed too early', lambda: c.health() == NOT_SERVING, 10)
    Subscriber(c, 'password').next('what it has all the same')
    c.end()


def check_restart(test, cluster, a, b, old, new):
    """What is kept has the new key as well; without it nothing is served that is not known."""
    a.end()
    b.end()
    b = Replica(test, cluster, 'b', [old], b.port)
    b.wait_for_log('reading etcd before clients are served')
    b.wait_for_log('this replica is not ready: ')
    b.wait_for_log('listening on ')
    waiting = Subscriber(b, 'password')
    waiting.is_quiet('of what its copy has, and it cannot decrypt')
    b.end()
    for member in cluster.members.values():
        member.kill()
    a = Replica(test, cluster, 'a', [new], a.port)
    a.wait_for_log('listening on ')
    Subscriber(a, 'password').next('the secret without etcd')


def body(test):
    cluster = open_etcd(test)
    (test.work / 'files').mkdir()
    secret_file(test, 'filed', f'{WORD}-of-a-file').rename(test.work / 'files' / 'filed.yaml')
    old, new = write_key(test, 'old', '5a'), write_key(test, 'new', 'c3')
    begin = time.monotonic()
    a, b, ids = check_rotation(test, cluster, old, new)
    check_etcd(cluster, a)
    check_lacking(test, cluster, a, old, new, ids)
    check_restart(test, cluster, a, b, old, new)
    print(f'{time.monotonic() - begin:.1f} s')


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
