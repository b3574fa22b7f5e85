#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several udpad at one etcd are one node: what one has given a receipt for, all serve, with the same
versions, whatever of udpad and etcd is killed; and without etcd they serve what they have. short: without
what takes long, two that publish at once, and a leader that is killed meanwhile, which `faults` plays, too."""
import base64
import difflib
import json
import pathlib
import pprint
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time

import interop
import udpactl

from google.protobuf import wrappers_pb2
from interop import Failure, check, free_ports, never, run, wait_for

from etcd import Cluster, program_or_skip
from store_node import NODE_ID, Controlled
from udpa_peer import PREFIX, Peer
from xds_peer import CLUSTER, Client

PREFIX_KEY = '/udpa/x'
SECRET = PREFIX + 'envoy.extensions.transport_sockets.tls.v3.Secret'
STRING = PREFIX + 'google.protobuf.StringValue'
WORD = 'correct-horse-battery-staple'
KINDS = {'a', 'c', 'f', 'lane', 'm', 'set', 'tick'} # what keys begin with, below the prefix
ROUNDS, LARGE = 50, 100
TTL_S, LEFT_S = 10, 2
EXPIRED_AGAIN_S = 1 # UDPAI_EXPIRED_AGAIN_MS


class Replica(Controlled):
    """It keeps its port and its directory when it is started again."""

    def __init__(self, test, cluster, name, port=None, waits=False, environment=None, **more):
        self.test, self.cluster, self.name, self.more = test, cluster, name, more
        self.port = port or free_ports(1)[0]
        self.address = f'127.0.0.1:{self.port}'
        self.directory = test.work / f'{more.get("directory", name)}-data'
        interop.Process.__init__(self, command(test, cluster, name, self.port, **more),
                                 test.work / f'{name}.log', environment)
        test.processes.append(self)
        if not waits:
            self.wait_for_log('listening on ')

    def peer(self, node_id='publisher'):
        return Peer(self.test.build, self.address, node_id)

    def kill_hard(self):
        self.kill()
        self.end()

    def again(self, **more):
        return Replica(self.test, self.cluster, self.name, self.port, **{**self.more, **more})


def command(test, cluster, name, port, node_id=NODE_ID, prefix=PREFIX_KEY, directory=None,
            key_file=None, is_replica=True, source=None, sections=None):
    store = {'directory': str(test.work / f'{directory or name}-data')}
    if is_replica:
        store.update(engine='ETCD', prefix=prefix, endpoints=cluster.endpoints)
    if key_file:
        store['keys'] = [{'file': str(key_file)}]
    config = {'node': {'id': node_id}, 'store': store, **(sections or {})}
    if source: # the address of a node from which it takes everything
        config['static_resources'] = {'config_sources': [{'name': 'top', 'udpa': {'address': source}}]}
        config['providers'] = [{'config_descriptors': [{'resource_name': 'top'}]}]
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps(config), encoding='utf-8')
    listen = [] if 'sockets' in config else ['--listen', f'127.0.0.1:{port}']
    return [test.build / 'udpad', '-c', path, *listen]


# ---- what a replica serves ----

def xds(replica, is_delta):
    with Client(replica.address, is_delta) as client:
        client.send(CLUSTER)
        response = client.receive()
    if is_delta:
        return response.system_version_info, sorted(
            (one.name, one.version, one.resource.value) for one in response.resources)
    return response.version_info, sorted(one.value for one in response.resources)


def held(replica):
    """All that it has, with versions, generations, authorities and instances."""
    return json.loads(replica.take('get', '-o', 'json'))


def served(replica):
    return held(replica), xds(replica, True), xds(replica, False)


def difference(has, wanted):
    return difflib.unified_diff(pprint.pformat(wanted).split('\n'), pprint.pformat(has).split('\n'),
                                'wanted', 'has', lineterm='')


def expect_same(what, replicas, wanted=None, patience_s=2):
    """All replicas have the same; what that is."""
    begin = time.monotonic()
    wanted = wanted or served(replicas[0])
    for replica in replicas:
        try:
            wait_for('the same', lambda one=replica: served(one) == wanted, patience_s)
        except Failure:
            print('\n'.join(difference(served(replica), wanted)))
            raise Failure(f'{what}: {replica.name} does not have it') from None
    check(f'{what} ({time.monotonic() - begin:.2f} s)', True)
    return wanted


def names(replica, *words):
    status, text = replica.ctl('get', '-o', 'name', *words)
    if status and 'there is no' not in text:
        raise Failure(f'{replica.name}: {text}')
    return set() if status else {line.rsplit('/', 1)[-1] for line in text.split()}


def write(test, name, *documents):
    path = test.work / name
    path.write_text('\n---\n'.join(json.dumps(one) for one in documents), encoding='utf-8')
    return path


def string(name, value, **more):
    return {'name': f'local/{name}', 'resource': {'@type': STRING, 'value': value}, **more}


# ---- publications ----

def check_publications(test, a, b):
    file = udpactl.write_cluster(test, 'one.json', 'one')
    a.take('apply', '-f', file)
    a.take('apply', '-f', write(test, 'more.yaml', string('greeting', 'good day'), string('other', 'x')))
    wanted = expect_same('what A was given B serves, with the same versions', [a, b])
    versions = wanted[1][0], wanted[2][0]
    check(f'  version_info {versions}', all(versions) and 'local/one' in {one['name'] for one in wanted[0]})
    copies = [one.take('get', '-o', 'yaml', '--all') for one in (a, b)]
    check('  so are copies of them', copies[0] == copies[1] and 'generation' in copies[0])
    b.take('delete', 'cluster', 'one')
    wait_for('its end at A', lambda: 'one' not in names(a), 2)
    b.take('apply', '-f', udpactl.write_cluster(test, 'two.json', 'two', '2s'))
    expect_same('what B removed and put is so at A', [b, a])


class Generations(threading.Thread):
    """A subscriber that has seen these generations of a resource, one after the other."""

    def __init__(self, replica, name):
        super().__init__(daemon=True)
        self.name_wanted, self.seen = f'local/{name}', []
        self.peer = replica.peer('onlooker')
        message = self.peer.udpa_message()
        message.subscribe.type_url = STRING
        message.subscribe.namespace = 'local'
        message.subscribe.resource_names.append('*')
        self.peer.outbox.put(message)
        self.start()

    def run(self):
        while not isinstance(message := self.peer.inbox.get(), Exception):
            if message.WhichOneof('message') != 'publish':
                continue
            for one in message.publish.delta.resources:
                if one.name == self.name_wanted and one.resource.value:
                    self.seen.append((one.origin_info.generation, one.resource.value))

    def end(self, last):
        """All of them, of which this is the last."""
        wait_for('the last generation', lambda: self.seen and self.seen[-1][0] == last, 2)
        self.peer.close()
        generations = [one for one, _ in self.seen]
        check(f'{len(generations)} generations of it, which only rise',
              generations == sorted(generations) or print(generations))
        check('  each for one content', len(set(generations)) == len(set(self.seen)))


def publish_rounds(replica, failures, name='raced'):
    try:
        with replica.peer() as peer:
            for n in range(ROUNDS):
                peer.publish([(name, wrappers_pb2.StringValue(value=f'{replica.name} {n}'))])
    except Failure as failure:
        failures.append(f'{replica.name}, round {n}: {failure}')


def generation_of(replica, name):
    for one in held(replica):
        if one['name'] == f'local/{name}':
            return int(one['originInfo']['generation'])
    raise Failure(f'{replica.name} does not have {name}')


def check_race(test, cluster, a, b):
    failures, seen = [], [Generations(one, 'raced') for one in (a, b)]
    begin = time.monotonic()
    threads = [threading.Thread(target=publish_rounds, args=(one, failures)) for one in (a, b)]
    for thread in threads:
        thread.start()
    statuses = []
    for n in range(6): # the same by udpactl
        files = [write(test, f'race-{one.name}.yaml', string('raced-too', f'{one.name} {n}'))
                 for one in (a, b)]
        asked = [udpactl.Ctl(test, one).start('apply', '-f', file) for one, file in zip((a, b), files)]
        statuses += [(one.wait(), one.stderr.read()) for one in asked]
    for thread in threads:
        thread.join()
    took_s = time.monotonic() - begin
    check(f'two who change the same are given {2 * ROUNDS} receipts in {took_s:.1f} s',
          not failures or print(failures))
    check('  and exit status 0 by udpactl', not any(status for status, _ in statuses) or print(statuses))
    c = Replica(test, cluster, 'c')
    expect_same('all have the same in the end, and so has a third that is new', [a, b, c])
    last = generation_of(a, 'raced')
    for one in seen:
        one.end(last)
    return c


def check_secrets(test, cluster, a, b, c):
    """C has no key."""
    file = write(test, 'secret.yaml', {'name': 'local/password', 'resource': {
        '@type': SECRET, 'name': 'password', 'generic_secret': {'secret': {'inline_string': WORD}}}})
    text = c.refuse('apply', '-f', file)
    check('  without a key, and says what to do', 'set store.keys' in text or print(text))
    a.take('apply', '-f', file)
    for one in (a, b):
        with Client(one.address) as client:
            client.send(SECRET, ['password'])
            response = client.receive()
        check(f'{one.name} serves the secret', WORD.encode() in response.resources[0].resource.value)
    c.wait_for_log('this replica is not ready: 1 secret in etcd cannot be decrypted: store.keys does not')
    status, text = c.ctl('get', 'secret', 'password')
    check('C does not say that there is none', status and 'has not synchronized' in text or print(text))
    kvs = {base64.b64decode(kv['key']).decode(): base64.b64decode(kv.get('value', '')) for kv in
           json.loads(cluster.ctl('get', '--prefix', '', '-w', 'json'))['kvs']}
    check('etcd has it, too', any('Secret/password' in key for key in kvs))
    check('  but not its payload', not any(WORD.encode() in value for value in kvs.values()))
    kinds = {key.removeprefix(PREFIX_KEY + '/').split('/')[0] for key in kvs}
    check(f'  and keys of {sorted(kinds)}', {'c', 'set'} <= kinds <= KINDS and
          all(key.startswith(PREFIX_KEY + '/') for key in kvs))
    stored = [path for one in (a, b, c) for path in one.directory.rglob('*') if path.is_file()]
    check('nor has a directory', stored and not any(WORD.encode() in path.read_bytes() for path in stored))
    a.take('delete', 'secret', 'password')


def check_large(test, a, b):
    """A publication with more changes than etcd takes in a transaction, all of it or nothing."""
    file = write(test, 'large.yaml', *(string(f'large-{n}', str(n)) for n in range(LARGE)))
    begin = time.monotonic()
    a.take('apply', '-f', file)
    check(f'{LARGE} changes are taken in {time.monotonic() - begin:.1f} s', True)
    expect_same('  and are at B', [a, b])
    check('  all', sum(name.startswith('large') for name in names(b)) == LARGE)


# ---- who they are ----

def check_status(a, b):
    """Both are listed at each, and one that has just ended perhaps, with one configuration."""
    def rows(replica):
        return {line.split()[0]: line for line in replica.take('status', 'replicas').splitlines()[2:]}
    wait_for('both replicas', lambda: all(len(rows(one)) >= 2 for one in (a, b)), 5)
    at_a, at_b = rows(a), rows(b)
    check('status replicas lists the same at A and at B', set(at_a) == set(at_b) or print(at_a, at_b))
    for at in at_a, at_b:
        own = [line for line in at.values() if '(this)' in line]
        check('  which says which it is, and that it is current', len(own) == 1 and ' current ' in own[0])
    check('  and that they are configured alike',
          'another configuration' not in a.take('status') + b.take('status'))


# ---- leases ----

def lease(test, replica, name):
    """Applies a cluster that ends; when."""
    document = {'name': f'local/{name}', 'ttl': f'{TTL_S}s',
                'resource': {'@type': CLUSTER, 'name': name, 'connect_timeout': '1s'}}
    file = write(test, f'{name}.yaml', document)
    before = time.monotonic()
    replica.take('apply', '-f', file)
    return before + TTL_S


def has_lease(replica):
    """udpactl would not show what has no time left."""
    return any('lease' in name for name, _, _ in xds(replica, True)[1])


def check_lease(test, cluster, a, b):
    due = lease(test, a, 'lease')
    wait_for('the lease at B', lambda: has_lease(b), 1)
    for one in (a, b):
        wait_for('its end', lambda replica=one: not has_lease(replica), TTL_S + 2 * LEFT_S)
        late_s = time.monotonic() - due
        check(f'a lease ends at {one.name} {late_s:+.2f} s after its time', 0 <= late_s < LEFT_S)
    check('and in etcd', '/lease/' not in cluster.ctl('get', '--prefix', '--keys-only', PREFIX_KEY + '/c/'))


# ---- replicas that end ----

def check_restart(a, b):
    wanted = expect_same('before A is killed', [a, b])
    a.kill_hard()
    a = a.again()
    expect_same('A is killed and started again: the same versions', [a, b], wanted)
    a.kill_hard()
    shutil.rmtree(a.directory)
    a = a.again()
    expect_same('A is killed, and its directory lost: the same versions', [a, b], wanted)
    return a


# ---- etcd that ends ----

class Publisher(threading.Thread):
    """20 publications a second through one replica, whatever becomes of those before."""

    PAUSE_S = 0.05

    def __init__(self, replica):
        super().__init__(daemon=True)
        self.replica, self.stopped = replica, threading.Event()
        self.peer, self.message = None, None
        self.sent_at, self.receipted_at, self.refused, self.hang_ups = {}, {}, {}, []
        self.failure = None

    def name_of(self, n):
        return f'kill-{self.replica.name}-{n:03}'

    def send(self, n):
        self.peer = self.peer or self.replica.peer(f'publisher-{self.replica.name}')
        message = self.peer.udpa_message()
        delta = message.publish.delta
        delta.nonce, delta.receipt_required = str(n), True
        entry = delta.resources.add(name=f'local/{self.name_of(n)}')
        entry.resource.type_url = STRING
        entry.resource.value = wrappers_pb2.StringValue(value=str(n)).SerializeToString()
        self.sent_at[n] = time.monotonic()
        self.peer.outbox.put(message)

    def receipted_after(self, begin):
        """When the first receipt came for what was sent after that; None."""
        return min((at for n, at in list(self.receipted_at.items()) if self.sent_at[n] > begin), default=None)

    def hear(self, patience_s):
        """False: nothing came."""
        try:
            message = self.peer.inbox.get(timeout=patience_s)
        except queue.Empty:
            return False
        if isinstance(message, Exception):
            self.hang_ups.append(message.details())
            self.peer.close()
            self.peer = None
        elif message.WhichOneof('message') == 'receipt':
            n = int(message.receipt.nonce or -1)
            refused = [status.message for status in message.receipt.error_detail if status.code]
            if refused:
                self.refused[n] = refused[0]
            elif n in self.sent_at:
                self.receipted_at[n] = time.monotonic()
        return True

    def run(self):
        try:
            due = time.monotonic()
            while not self.stopped.is_set():
                self.send(len(self.sent_at))
                due += self.PAUSE_S
                while self.peer and self.hear(max(due - time.monotonic(), 0.001)):
                    pass
                time.sleep(max(due - time.monotonic(), 0))
            end = time.monotonic() + 10
            while self.peer and time.monotonic() < end and \
                    len(self.receipted_at) + len(self.refused) < len(self.sent_at):
                self.hear(0.1)
        except Failure as failure:
            self.failure = failure


def check_killed_leader(cluster, a, b):
    publishers = [Publisher(one) for one in (a, b)]
    for one in publishers:
        one.start()
    time.sleep(0.5)
    leader = cluster.leader()
    killed_at = time.monotonic()
    cluster.members[leader].kill()
    wait_for('another leader', lambda: cluster.leader(), 10)
    elected_s = time.monotonic() - killed_at
    for one in publishers:
        wait_for('a receipt after that', lambda by=one: by.receipted_after(killed_at), 10)
    time.sleep(0.3)
    for one in publishers:
        one.stopped.set()
        one.join()
    has = {replica.name: names(replica, STRING.removeprefix(PREFIX)) for replica in (a, b)}
    for one in publishers:
        what = f'publisher at {one.replica.name}'
        unknown = set(one.sent_at) - set(one.receipted_at) - set(one.refused)
        print(f'   {what}: {len(one.receipted_at)} receipted, {len(one.refused)} refused: '
              f'{set(one.refused.values())}, {len(unknown)} unknown; hang-ups: {one.hang_ups}', flush=True)
        check(f'{what}: no failure', not one.failure or print(one.failure))
        for name, there in has.items():
            lost = {n for n in one.receipted_at if one.name_of(n) not in there}
            check(f'  {name} has all that was receipted', not lost or print(lost))
            false = {n for n in one.refused if one.name_of(n) in there}
            check(f'  {name} has nothing that was refused', not false or print(false))
        gap_s = one.receipted_after(killed_at) - killed_at
        check(f'  it goes on {gap_s:.1f} s after the leader was killed, and etcd after {elected_s:.1f} s',
              gap_s < max(2.5, elected_s + 1)) # what etcd takes is not up to udpad
    cluster.start(leader)
    cluster.wait_ready()
    expect_same('A and B have the same', [a, b])


def apply_until(replica, file, patience_s):
    """How long it took until it was taken."""
    begin = time.monotonic()
    wait_for(f'a publication to {replica.name}', lambda: replica.ctl('apply', '-f', file)[0] == 0, patience_s)
    return time.monotonic() - begin


def check_no_quorum(test, cluster, a):
    file = write(test, 'quorum.yaml', string('quorum', 'x'))
    for name in cluster.names[1:]:
        cluster.members[name].pause()
    for _ in range(2): # it may not be noticed yet
        begin = time.monotonic()
        text = a.refuse('apply', '-f', file)
        took_s = time.monotonic() - begin
        # 5 s until it is known that nobody knows, and 1 s for the first answer of each stream.
        check(f'  without a quorum, and says so, after {took_s:.1f} s: {text}', 'etcd' in text and took_s < 10
              and 'no answer' not in text)
    for name in cluster.names[1:]:
        cluster.members[name].go_on()
    cluster.wait_ready()
    apply_until(a, file, 5)


def check_waiting(test, cluster):
    """A first start, while etcd is away: it can be ended, and goes on by itself. What it is then."""
    new = Replica(test, cluster, 'new', waits=True)
    line = new.wait_for_log('waiting for etcd, which this replica has not seen yet')
    print(f'   {line}', flush=True)
    new.process.send_signal(signal.SIGTERM)
    try:
        new.process.wait(2)
    except subprocess.TimeoutExpired:
        raise Failure('SIGTERM does not end a replica that waits for etcd') from None
    check(f'a replica that waits for etcd ends at SIGTERM: {new.process.returncode}',
          new.process.returncode in (0, -signal.SIGTERM))
    test.processes.remove(new)
    new = new.again(waits=True)
    new.wait_for_log('waiting for etcd')
    return new


def check_read_waiting(test, cluster, a):
    """As before, but which set it is of was found already; its database was not written."""
    folder = test.work / 'half-data'
    folder.mkdir(mode=0o700)
    shutil.copy(a.directory / 'replica-set', folder)
    half = Replica(test, cluster, 'half', waits=True)
    half.wait_for_log('reading etcd before clients are served')
    try:
        line = wait_for('that etcd is away', lambda: next(
            (line for line in half.text().splitlines() if 'etcd is unavailable' in line), None), 5)
        print(f'   {line}', flush=True)
    except Failure:
        raise Failure('a replica that waits to read etcd does not say that etcd is away') from None
    half.process.send_signal(signal.SIGTERM)
    half.process.wait(5)
    check(f'it ends at SIGTERM, too: {half.process.returncode}', 'Sanitizer' not in half.text() and
          half.process.returncode in (0, -signal.SIGTERM) or print(half.text()))
    test.processes.remove(half)


def kept(replica):
    """What it serves, but for the lease, which udpactl may show or not."""
    return names(replica) - {'long-lease'}, \
        [one for one in xds(replica, True)[1] if 'lease' not in one[0]]


def check_outage(test, cluster, a, b):
    wanted = kept(a)
    due = lease(test, a, 'long-lease')
    wait_for('the lease at B', lambda: has_lease(b), 1)
    for name in cluster.names:
        cluster.members[name].kill()
    check('etcd is killed before the lease ends', time.monotonic() < due)
    file = write(test, 'away.yaml', string('away', 'x'))
    begin = time.monotonic()
    text = a.refuse('apply', '-f', file)
    took_s = time.monotonic() - begin
    print(f'   {text.strip()}', flush=True)
    check(f'  without etcd, and says so, after {took_s:.1f} s', 'etcd' in text and took_s < 5)
    for one in (a, b):
        one.wait_for_log('etcd is unavailable, so publications are rejected')
        check(f'{one.name} serves on', kept(one) == wanted)
    a.kill_hard()
    a = a.again()
    new = check_waiting(test, cluster)
    time.sleep(max(0, due + 0.5 - time.monotonic()))
    check('A, started again without etcd, serves the same', kept(a) == wanted or print(kept(a), wanted))
    for one in (b, a):
        check(f'a lease does not end at {one.name} without etcd', has_lease(one))
    check('A and B have the same version_info', xds(a, True) == xds(b, True) and
          xds(a, False) == xds(b, False))
    check_read_waiting(test, cluster, a)
    check('A says that etcd is away', 'etcd is unavailable' in a.text() or print(a.text()))
    begin = time.monotonic()
    for name in cluster.names:
        cluster.start(name)
    cluster.wait_ready()
    back = time.monotonic()
    print(f'   etcd was back after {time.monotonic() - begin:.1f} s', flush=True)
    took_s = max(apply_until(one, file, 5) for one in (a, b))
    check(f'publications are taken {took_s:.1f} s after etcd was back', took_s < 5)
    new.wait_for_log('listening on ')
    for one in (a, b, new):
        wait_for('the end of the lease', lambda replica=one: not has_lease(replica),
                 2 + EXPIRED_AGAIN_S + 15) # another janitor may have to take over first
    check(f'the lease has ended {time.monotonic() - back:.1f} s after etcd was back', True)
    check('all that was receipted is there', kept(a)[0] == wanted[0] | {'away'})
    expect_same('A, B and the one that waited have the same', [a, b, new])
    new.end()
    return a


# ---- who does not start ----

def check_no_start(test, cluster, what, parts, **more):
    try:
        done = subprocess.run(command(test, cluster, 'no-start', free_ports(1)[0], **more), text=True,
                              capture_output=True, check=False, timeout=10)
    except subprocess.TimeoutExpired as late:
        raise Failure(f'{what} starts: {late.stdout.decode()[-500:]}') from None
    text = done.stdout + done.stderr
    check(f'{what} does not start: {done.returncode}\n{done.stderr}', done.returncode == 1 and
          not any(mark in text for mark in interop.SANITIZER_MARKS))
    for part in parts:
        check(f'  and says …{part}…', part in text)


def check_no_starts(test, cluster):
    check_no_start(test, cluster, 'another node', ("is the node 'edge', and this is 'other'",
                                                   'needs another store.prefix'), node_id='other')
    check_no_start(test, cluster, 'a directory of another set',
                   ('is of the replica set at /udpa/x, not of that at /udpa/y', 'set store.directory'),
                   directory='new', prefix='/udpa/y')
    single = interop.Node(test, 'single')
    single.stop()
    check_no_start(test, cluster, 'a directory of a node without replicas',
                   ('has the store of a node without replicas', 'set store.directory'), directory='single')
    check_no_start(test, cluster, 'without etcd what was a replica', ('replica', 'set store.'),
                   directory='new', is_replica=False)


def body(test):
    is_short = test.variant == 'short'
    cluster = Cluster(test, program_or_skip(test, 'debian' if is_short else test.variant))
    key_file = pathlib.Path(test.work / 'store.key')
    key_file.write_text('5a' * 32 + '\n', encoding='ascii')
    key_file.chmod(0o600)
    a, b = (Replica(test, cluster, name, key_file=key_file) for name in 'ab')
    check_publications(test, a, b)
    c = Replica(test, cluster, 'c') if is_short else check_race(test, cluster, a, b)
    check_secrets(test, cluster, a, b, c)
    c.end()
    check_large(test, a, b)
    check_status(a, b)
    if test.variant == 'current':
        check_lease(test, cluster, a, b)
    a = check_restart(a, b)
    if not is_short:
        check_killed_leader(cluster, a, b)
    a = check_outage(test, cluster, a, b)
    if test.variant == 'current':
        check_no_quorum(test, cluster, a)
    check_no_starts(test, cluster)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, ('short', 'debian', 'current')))
