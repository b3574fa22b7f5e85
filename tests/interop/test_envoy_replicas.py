#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three Envoys on three replicas under constant traffic: whatever of udpad and etcd is killed, no request
fails, no resource is lost, and who moves is sent the difference alone, and nothing that is older.

moves: a client made by hand goes round the replicas. first: the first answer of a new stream has what was
receipted elsewhere. traffic: Envoys, while members and replicas die. short: a little of each.
"""
import asyncio
import bisect
import collections
import contextlib
import http.client
import json
import os
import random
import shutil
import statistics
import sys
import threading
import time

import interop
import envoy_peer
import envoy_resources as resources
import udpactl
from envoy.config.cluster.v3 import cluster_pb2
from interop import Failure, check, wait_for

from etcd import Cluster, program_or_skip
from test_replicas import Replica, held
from udpa_peer import Peer, any_of, sessions
from xds_peer import CLUSTER, ENDPOINTS, PREFIX, Client

LISTENER, ROUTE = PREFIX + resources.TYPE_LISTENER, PREFIX + 'envoy.config.route.v3.RouteConfiguration'
NAMES = 'abc'
N_CLUSTERS = 20
STOPPED_S = 3


class Turned:
    """A cluster, with another member as its first: each replica begins with one of its own."""

    def __init__(self, cluster, n):
        self.endpoints = cluster.endpoints[n:] + cluster.endpoints[:n]


class Set:
    """Three members of etcd, three replicas."""

    def __init__(self, test):
        self.test = test
        self.cluster = Cluster(test, program_or_skip(test, 'debian'))
        self.replicas = {name: Replica(test, Turned(self.cluster, n), name) for n, name in enumerate(NAMES)}

    def __iter__(self):
        return iter(list(self.replicas.values()))

    def kill(self, name):
        self.replicas[name].kill_hard()

    def again(self, name):
        self.replicas[name] = self.replicas[name].again()
        return self.replicas[name]


def shown_ms(seconds):
    values = sorted(1000 * one for one in seconds)
    return f'p50 {statistics.median(values):.1f} ms, p99 {values[len(values) * 99 // 100]:.1f} ms, ' \
        f'max {values[-1]:.1f} ms'


def names_of(kind, n=N_CLUSTERS):
    return [f'{kind}-{i:02}' for i in range(n)]


# ---- moves ----

class Mover:
    """A client of delta xDS that goes from replica to replica, and says what it has."""

    ORDER = (CLUSTER, ENDPOINTS, LISTENER, ROUTE)
    WILDCARD = {CLUSTER, LISTENER}

    def __init__(self):
        self.has = {type_url: {} for type_url in self.ORDER}
        self.versions = {} # of a wildcard, as a whole
        self.took = []

    def ask(self, client):
        """For a name that is absent from what it has, too: that comes in any case."""
        names = {ENDPOINTS: names_of('moved'), ROUTE: [*names_of('moved', 3), 'absent']}
        for type_url in self.ORDER:
            client.send(type_url, names.get(type_url, ()), initial_resource_versions=self.has[type_url])

    def move(self, replica, wanted):
        """What it is sent until it has had all that is wanted: {type: {name: version}}, {type: removed}, and
        {type: version} of all."""
        begin = time.monotonic()
        sent, removed, versions = collections.defaultdict(dict), collections.defaultdict(list), {}
        with Client(replica.address) as client:
            self.ask(client)
            while not (self.WILDCARD <= set(versions) and
                       all(set(names) <= set(sent[type_url]) for type_url, names in wanted.items())):
                response = client.receive()
                client.answer(response)
                versions[response.type_url] = response.system_version_info
                sent[response.type_url].update({one.name: one.version for one in response.resources})
                removed[response.type_url] += response.removed_resources
        self.took.append(time.monotonic() - begin)
        versions = {type_url: versions[type_url] for type_url in self.WILDCARD}
        return {type_url: found for type_url, found in sent.items() if found}, \
            {type_url: found for type_url, found in removed.items() if found}, versions

    def take(self, sent, versions):
        self.versions = versions
        for type_url, found in sent.items():
            self.has[type_url].update(found)
        del self.has[ROUTE]['absent']


def route_of(name, text='x'):
    return resources.route(name, [resources.direct('/', text)])


def moved_resources():
    names = names_of('moved')
    return [*((name, envoy_peer.static_cluster(name)) for name in names_of('plain')),
            *((name, envoy_peer.eds_cluster(name)) for name in names),
            *((name, envoy_peer.assignment(name)) for name in names),
            *((name, resources.listener(name, resources.by_rds(name, envoy_peer.ADS)))
              for name in names[:3]),
            *((name, route_of(name)) for name in names[:3]), ('absent', route_of('absent'))]


def versions_in_full(replica):
    """version_info of the state of the world; on a stream for each type, as listeners wait for clusters."""
    found = {}
    for type_url in (CLUSTER, LISTENER):
        with Client(replica.address, False) as client:
            client.send(type_url)
            found[type_url] = client.receive().version_info
    return found


def check_moves(replica_set, count):
    """Each tenth time something has changed meanwhile: that alone comes. Each fiftieth time the next one
    was killed, and has lost its directory each hundredth time."""
    replicas = list(replica_set)
    mover, chance = Mover(), random.Random(22)
    with replicas[0].peer() as peer:
        peer.publish(moved_resources())
    sent, removed, versions = mover.move(replicas[0], {ROUTE: ['absent']})
    mover.take(sent, versions)
    n_all = sum(map(len, mover.has.values()))
    check(f'a client has {n_all} resources', n_all == 3 * N_CLUSTERS + 6 and not removed)
    full = versions_in_full(replicas[0])
    n_changes = 0
    for n in range(1, count + 1):
        replica = replicas[n % len(replicas)]
        if n % 50 == 25:
            replica_set.kill(replica.name)
            if n % 100 == 25:
                shutil.rmtree(replica.directory)
            replica = replica_set.again(replica.name)
            replicas = list(replica_set)
        wanted = {ROUTE: {'absent'}}
        is_change = n % 10 == 0
        if is_change:
            changed = chance.choice(names_of('plain'))
            with chance.choice(replicas).peer() as peer:
                peer.publish([(changed, envoy_peer.static_cluster(changed, f'{n}s'))])
            wanted[CLUSTER] = {changed}
            n_changes += 1
        sent, removed, versions = mover.move(replica, wanted)
        got = {type_url: set(found) for type_url, found in sent.items()}
        is_same = versions == mover.versions
        if got != wanted or removed or is_same == is_change:
            raise Failure(f'move {n} to {replica.name}: sent {got}, not {wanted}; removed {removed}; '
                          f'versions {versions}, before {mover.versions}')
        mover.take(sent, versions)
        if n % 10 == 9:
            now = {one.name: versions_in_full(one) for one in replicas}
            if len(set(map(str, now.values()))) != 1 or (n == 9 and now[replica.name] != full):
                raise Failure(f'move {n}: version_info of the state of the world: {now}')
    check(f'of {count} moves with {n_all} resources, {count - n_changes} are sent nothing, {n_changes} the '
          f'one that has changed; the same version_info: {shown_ms(mover.took)}', True)


# ---- first answers ----

class Line:
    """A connection to a node that is there already, on which streams are opened."""

    def __init__(self, node):
        self.node = node
        self.base = Client(node.address)
        self.base.send(LISTENER)
        self.base.receive()

    def ask(self):
        client = Client(self.node.address, beside=self.base)
        client.send(CLUSTER)
        return client

    def close(self):
        self.base.__exit__()


class Rounds:
    """What is receipted at one replica, the first answer of a new stream at the others has."""

    def __init__(self, replicas):
        self.lines = {one.name: Line(one) for one in replicas}
        self.peers = {one.name: one.peer() for one in replicas}
        self.n = self.n_late = 0
        self.took = []
        self.older = []

    def close(self):
        for one in [*self.lines.values(), *self.peers.values()]:
            one.close()

    def publish(self, name):
        """Again and again, until there is a receipt."""
        message = cluster_pb2.Cluster(name='first', alt_stat_name=str(self.n))
        message.connect_timeout.seconds = 1

        def is_taken():
            try:
                self.peers[name].publish([('first', message)])
            except Failure as failure:
                print(f'   round {self.n} at {name}: {failure}', flush=True)
                self.peers[name].close()
                self.peers[name] = self.lines[name].node.peer()
                return False
            return True
        wait_for(f'round {self.n}', is_taken)

    def note(self, at, name, response, took_s):
        self.took.append(took_s)
        cluster = cluster_pb2.Cluster()
        next(one for one in response.resources if one.name == 'first').resource.Unpack(cluster)
        if int(cluster.alt_stat_name) < self.n:
            self.older.append(f'round {self.n}, receipted at {at}: {name} answers {cluster.alt_stat_name} '
                              f'after {took_s:.3f} s')

    def one(self, at, others):
        self.n += 1
        self.publish(at)
        begin = time.monotonic()
        clients = {name: self.lines[name].ask() for name in others}
        for name, client in clients.items():
            self.note(at, name, client.receive(), time.monotonic() - begin)
            client.stream.cancel()

    def run(self, count):
        """The next so many rounds; how long their answers took."""
        names, n_before = list(self.lines), len(self.took)
        for _ in range(count):
            at = names[self.n % len(names)]
            self.one(at, [name for name in names if name != at] or [at])
        return self.took[n_before:]



def shown_rounds(what, rounds, took):
    check(f'{what}: {len(took)} first answers, {shown_ms(took)}', True)
    older, rounds.older = rounds.older, []
    check('  none is older than what was receipted', not older or print(*older, sep='\n'))


@contextlib.contextmanager
def rounds_at(replicas):
    rounds = Rounds(replicas)
    try:
        yield rounds
    finally:
        rounds.close()


class Single(interop.Node):
    """A node without etcd, to compare with."""

    def peer(self):
        return Peer(self.build, self.address)


def check_single(test, count):
    single = Single(test, 'single')
    single.build = test.build
    with rounds_at([single]) as rounds:
        rounds.publish('single')
        rounds.run(5)
        shown_rounds('a node without etcd', rounds, rounds.run(count))
    single.stop()
    test.processes.remove(single)


def check_again(replica_set, rounds, name):
    """It has missed some: its first answer, when it is there again, has them all the same."""
    replica_set.kill(name)
    at = next(one for one in rounds.lines if one != name)
    for _ in range(5):
        rounds.one(at, [at])
    replica = replica_set.again(name)
    begin = time.monotonic()
    with Client(replica.address) as client:
        client.send(CLUSTER)
        rounds.note(at, name, client.receive(), time.monotonic() - begin)
    rounds.lines[name].close()
    rounds.lines[name] = Line(replica)
    rounds.peers[name].close()
    rounds.peers[name] = replica.peer()


def check_stopped(cluster, rounds, n):
    """A member is stopped, but not closed: the replica that uses it does not hear that."""
    name, n_before = cluster.names[n], len(rounds.took)
    what = 'leader' if name == cluster.leader() else 'follower'
    cluster.members[name].pause()
    end = time.monotonic() + STOPPED_S
    while time.monotonic() < end:
        rounds.one(NAMES[(n + 1) % 3], [NAMES[n]])
    cluster.members[name].go_on()
    cluster.wait_ready()
    shown_rounds(f'a {what} of etcd is stopped for {STOPPED_S} s', rounds, rounds.took[n_before:])


def check_first(test, replica_set, is_short):
    cluster, count = replica_set.cluster, 20 if is_short else 200
    check_single(test, count)
    with rounds_at(replica_set) as rounds:
        rounds.publish('a')
        rounds.run(3)
        shown_rounds('all members and replicas are there', rounds, rounds.run(count))
        n_before = len(rounds.took)
        for n in range(2 if is_short else 12):
            check_again(replica_set, rounds, NAMES[n % 3])
        shown_rounds('a replica is killed, and starts again', rounds, rounds.took[n_before:])
        for n in range(0 if is_short else 6):
            check_stopped(cluster, rounds, n % 3)
        if not is_short:
            leader = cluster.leader()
            cluster.members[leader].kill()
            shown_rounds('the leader is killed', rounds, rounds.run(count))
            cluster.start(leader)
            cluster.wait_ready()


# ---- Envoys under traffic ----

class Upstream:
    """A web server at all addresses of loopback, which answers with the number of the one it was asked at."""

    def __init__(self):
        self.port = None
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve(started)), daemon=True).start()
        started.wait()

    async def serve(self, started):
        server = await asyncio.get_running_loop().create_server(Answers, '0.0.0.0', 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        async with server:
            await server.serve_forever()

    def assignment(self, name, n):
        made = envoy_peer.assignment(name, self.port)
        socket_address = made.endpoints[0].lb_endpoints[0].endpoint.address.socket_address
        socket_address.address = f'127.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}'
        return made


class Answers(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.rest = transport, b''
        _, *bytes_ = map(int, transport.get_extra_info('sockname')[0].split('.'))
        text = str(int.from_bytes(bytes_, 'big')).encode()
        self.answer = b'HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s' % (len(text), text)

    def data_received(self, data):
        self.rest += data
        n = self.rest.count(b'\r\n\r\n')
        self.rest = self.rest.rsplit(b'\r\n\r\n', 1)[-1]
        self.transport.write(n * self.answer)


class Traffic(threading.Thread):
    """Requests at a steady rate, and the numbers that are answered, of which each is at least as high as the
    one before."""

    PER_SECOND = 50

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.stopped = port, threading.Event()
        self.n_answered, self.longest_s = 0, 0
        self.first_at = {} # by number
        self.last = -1
        self.failures = []

    def ask(self, connection):
        connection.request('GET', '/')
        answer = connection.getresponse()
        text = answer.read().decode(errors='replace')
        if answer.status != 200:
            self.failures.append(f'{answer.status} {text}')
            return
        n = int(text)
        if n < self.last:
            self.failures.append(f'{n} was answered after {self.last}')
        self.last = n
        self.first_at.setdefault(n, time.monotonic())
        self.n_answered += 1

    def run(self):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=10)
        due = time.monotonic()
        while not self.stopped.is_set():
            begin = time.monotonic()
            try:
                self.ask(connection)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection.close()
            self.longest_s = max(self.longest_s, time.monotonic() - begin)
            due = max(due + 1 / self.PER_SECOND, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))
        connection.close()


class Changes(threading.Thread):
    """Publishes the endpoints of the backend ten times a second, at one replica in turn; with each tenth a
    cluster with endpoints of its own."""

    PAUSE_S = 0.1

    def __init__(self, replica_set, upstream):
        super().__init__(daemon=True)
        self.set, self.upstream = replica_set, upstream
        self.peers = {} # by the address and the process
        self.n = 0
        self.receipted, self.refused, self.unknown = {}, {}, {} # by number: when, and when it was sent; why
        self.stopped, self.under_way = threading.Event(), threading.Lock()
        self.failure = None

    @staticmethod
    def extra(n):
        return f'extra-{n:05}'

    def resources(self, n):
        made = [('backend', self.upstream.assignment('backend', n))]
        if n % 10 == 0:
            name = self.extra(n)
            made += [(name, envoy_peer.eds_cluster(name)), (name, envoy_peer.assignment(name))]
        return made

    def peer(self, replica):
        if replica not in self.peers:
            self.peers[replica] = replica.peer()
        return self.peers[replica]

    def fill(self, delta):
        for name, message in self.resources(self.n):
            packed = any_of(message)
            entry = delta.resources.add(name=f'local/{name}')
            entry.resource.type_url, entry.resource.value = packed.type_url, packed.value

    def publish(self, replica):
        self.n += 1
        begin = time.monotonic()
        try:
            refused = self.peer(replica).publish_delta(self.fill)
        except Failure as failure: # the stream has ended
            self.unknown[self.n] = begin, f'{replica.name}: {failure}'
            self.peers.pop(replica).close()
            return
        if refused:
            self.refused[self.n] = begin, f'{replica.name}: {refused[0].message}'
        else:
            self.receipted[self.n] = begin, time.monotonic()

    def run(self):
        try:
            due = time.monotonic()
            while not self.stopped.is_set():
                replicas = list(self.set)
                with self.under_way:
                    self.publish(replicas[self.n % len(replicas)])
                due = max(due + self.PAUSE_S, time.monotonic())
                time.sleep(max(0, due - time.monotonic()))
        except Exception as failure: # pylint: disable=broad-except
            self.failure = failure
        for peer in self.peers.values():
            peer.close()

    def end(self):
        self.stopped.set()
        self.join()
        if self.failure:
            raise self.failure


def lb_endpoints(ports):
    return [{'endpoint': {'address': {'socket_address': {'address': '127.0.0.1', 'port_value': port}}}}
            for port in ports]


HEALTH_CHECK = {'timeout': '1s', 'interval': '0.5s', 'no_traffic_interval': '0.5s', 'unhealthy_threshold': 1,
                'healthy_threshold': 1, 'grpc_health_check': {}}


def bootstrap(name, ports, n):
    """All replicas; the first Envoy asks them round robin, the others each has one of its own, which it
    prefers while that is healthy."""
    config = envoy_peer.bootstrap(name, 'DELTA_GRPC', ports[0])
    config['dynamic_resources']['lds_config'] = envoy_peer.ADS
    [cluster] = config['static_resources']['clusters']
    cluster['connect_timeout'] = '0.5s'
    if n == 0:
        endpoints = [{'lb_endpoints': lb_endpoints(ports)}]
    else:
        endpoints = [{'priority': priority, 'lb_endpoints': lb_endpoints([port])}
                     for priority, port in enumerate(ports[n:] + ports[:n])]
        cluster['health_checks'] = [HEALTH_CHECK]
    cluster['load_assignment']['endpoints'] = endpoints
    return config


class Envoy(envoy_peer.Envoy):
    """With the traffic through it."""

    REMOVED = r'^(cluster_manager.cluster_(modified|removed)|listener_manager.listener_(modified|removed)|' \
        r'cluster.(backend|extra-\d+).update_(empty|rejected)|http.front.rds.main.update_(empty|rejected)|' \
        r'(cluster_manager.cds|listener_manager.lds).update_rejected)$'

    def __init__(self, test, binary, replica_set, n):
        ports = [one.port for one in replica_set]
        name = f'envoy-{n}'
        super().__init__(test, binary, ports[0], name, bootstrap(name, ports, n))
        self.traffic = Traffic(wait_for('the listener', lambda: self.listener_ports().get('front')))

    def expect_all(self, wanted, last):
        """All of these clusters with their endpoints, and the backend at this number."""
        wait_for(f'{last} in {self.name}', lambda: self.traffic.last == last)
        dump = json.loads(self.admin('/config_dump?include_eds&resource=dynamic_endpoint_configs'))
        found = [one['endpoint_config'] for one in dump['configs']]
        served = {one['cluster_name'] for one in found if one.get('endpoints')} & self.clusters()
        check(f'{self.name} has all {len(wanted)} clusters that were receipted, and {last}',
              wanted <= served or print(wanted - served))

    def removals(self):
        return {name: value for name, value in self.stats(self.REMOVED).items() if value}


def sessions_of(test, replica_set, envoy):
    """(replica, session) of this Envoy, of those replicas that run."""
    for replica in replica_set:
        if replica.process.poll() is None:
            for one in sessions(test.build, replica.address):
                if one.peer_node_id == envoy.name and one.protocol == 'xds-delta':
                    yield replica, one


def replica_of(test, replica_set, envoy):
    found = wait_for(f'{envoy.name} at a replica', lambda: next(sessions_of(test, replica_set, envoy), None))
    return found[0]


def check_move(test, replica_set, envoy):
    """Nothing changes meanwhile: nothing is sent."""
    before = envoy.stats(r'^cluster.(backend|extra-\d+).update_success$')
    left = replica_of(test, replica_set, envoy)
    replica_set.kill(left.name)

    def is_in_sync():
        for replica, one in sessions_of(test, replica_set, envoy):
            if len(one.subscriptions) == 4 and all(part.in_sync for part in one.subscriptions):
                return replica, one
        return None
    begin = time.monotonic()
    replica, session = wait_for(f'{envoy.name} in sync elsewhere', is_in_sync)
    took_s = time.monotonic() - begin
    replica_set.again(left.name)
    sent = {part.type_url.rsplit('.', 1)[1]: (part.n_names, part.n_resources_sent, part.n_removals_sent)
            for part in session.subscriptions}
    check(f'{envoy.name} moves from {left.name} to {replica.name} within {took_s:.1f} s: names, resources '
          f'and removals sent: {sent}', not any(n or m for _, n, m in sent.values()))
    after = envoy.stats(r'^cluster.(backend|extra-\d+).update_success$')
    check(f'  and counts no update of endpoints of {len(after)} clusters', before == after)


def publish_all(test, replica_set, upstream):
    """By udpactl, each at another replica."""
    routes = [{'match': {'prefix': '/'}, 'route': {'cluster': 'backend'}}]
    messages = [envoy_peer.eds_cluster('backend'), upstream.assignment('backend', 1),
                resources.listener('front', resources.by_rds('main', envoy_peer.ADS)),
                resources.route('main', routes)]
    for n, message in enumerate(messages):
        replica = list(replica_set)[n % 3]
        replica.take('apply', '-f', udpactl.write(test, f'published-{n}.json', message))


class Faults:
    """What is done to the set, and how it recovers."""

    def __init__(self, replica_set, changes, chance):
        self.set, self.changes, self.chance = replica_set, changes, chance
        self.cluster = replica_set.cluster
        self.story = []

    def did(self, what):
        self.story.append((time.monotonic(), what))
        print(f'   {what}', flush=True)

    def calm(self, seconds=1):
        """Changes come through again, at each replica."""
        begin = time.monotonic()

        def is_well():
            late = [n for n, (sent, _) in list(self.changes.receipted.items()) if sent > begin]
            return len(late) >= 3 and len({n % 3 for n in late}) == 3
        wait_for('receipts of all replicas', is_well)
        took_s = time.monotonic() - begin
        time.sleep(max(0, seconds - took_s))
        return took_s

    def kill_replica(self, name, is_wiped):
        self.set.kill(name)
        self.did(f'replica {name} is killed' + (', and its directory lost' if is_wiped else ''))
        time.sleep(1)
        if is_wiped:
            shutil.rmtree(self.set.replicas[name].directory)
        self.set.again(name)
        self.did(f'replica {name} is there again')
        self.calm()

    def kill_leader(self):
        leader = self.cluster.leader()
        self.cluster.members[leader].kill()
        self.did('the leader of etcd is killed')
        self.did(f'receipts again after {self.calm(3):.1f} s')
        self.cluster.start(leader)
        self.cluster.wait_ready()
        self.did('it is there again')
        self.calm()

    def stop_member(self):
        name = self.chance.choice(self.cluster.names)
        what = 'leader' if name == self.cluster.leader() else 'follower'
        self.cluster.members[name].pause()
        self.did(f'a {what} of etcd is stopped for 3 s')
        time.sleep(3)
        self.cluster.members[name].go_on()
        self.did('it goes on')
        self.calm()

    def kill_all(self, seconds, is_between):
        """is_between: no publication is under way then, which nobody would know the outcome of for 5 s."""
        with self.changes.under_way if is_between else contextlib.nullcontext():
            for name in self.cluster.names:
                self.cluster.members[name].kill()
        begin = time.monotonic()
        self.did(f'all of etcd is killed for {seconds} s')
        time.sleep(seconds)
        receipted = [n for n, (sent, _) in list(self.changes.receipted.items()) if sent > begin]
        refused = {text for sent, text in list(self.changes.refused.values()) if sent > begin}
        for name in self.cluster.names:
            self.cluster.start(name)
        self.cluster.wait_ready()
        self.did('it is there again')
        self.did(f'receipts again after {self.calm():.1f} s')
        print(*sorted(refused), sep='\n')
        check('meanwhile nothing was receipted, and why',
              not receipted and refused and all('etcd' in text for text in refused) or print(receipted))

    def roll(self):
        """One after the other, without waiting: Envoys move to replicas that have missed changes."""
        for name in NAMES:
            self.set.kill(name)
            time.sleep(0.3)
            self.set.again(name)
        self.did('each replica was killed, and is there again')
        self.calm()

    def cycle(self, down_s, is_short):
        first, second = self.chance.sample(NAMES, 2)
        if not is_short:
            self.kill_replica(first, False)
        self.kill_replica(second, True)
        self.roll()
        self.kill_leader()
        if not is_short:
            self.stop_member()
        self.kill_all(down_s, is_short)


def reach_times(changes, envoy, numbers):
    """(number, how long it took from its publication until it, or a later one, was answered)"""
    seen = sorted(envoy.traffic.first_at.items())
    for n in numbers:
        at = bisect.bisect(seen, (n,))
        if at == len(seen):
            raise Failure(f'{envoy.name} has never had {n}')
        yield n, seen[at][1] - changes.receipted[n][0]


def check_reached(changes, envoys, first_fault_at):
    receipted = dict(changes.receipted)
    for envoy in envoys:
        times = list(reach_times(changes, envoy, receipted))
        calm = [took for n, took in times if receipted[n][0] < first_fault_at - 0.5]
        check(f'{envoy.name}: all {len(times)} changes reached it; from publication to answer '
              f'{shown_ms(calm)}; with faults {shown_ms([took for _, took in times])}', max(calm) < 2)
        false = set(envoy.traffic.first_at) & set(changes.refused)
        check(f'  and none that was refused ({len(changes.refused)}; {len(changes.unknown)} unknown)',
              not false or print(false))
    took = [at - sent for sent, at in receipted.values() if sent < first_fault_at - 0.5]
    check(f'receipts: {shown_ms(took)}', True)


def check_traffic(test, replica_set, is_short):
    binary = interop.envoy_or_skip()
    upstream = Upstream()
    publish_all(test, replica_set, upstream)
    envoys = [Envoy(test, binary, replica_set, n) for n in range(3)]
    changes = Changes(replica_set, upstream)
    changes.n = 1
    for envoy in envoys:
        envoy.traffic.start()
    changes.start()
    seed = int(os.environ.get('SEED', random.randrange(10000)))
    print(f'   SEED={seed}', flush=True)
    faults = Faults(replica_set, changes, random.Random(seed))
    time.sleep(2 if is_short else 20)
    first_fault_at = time.monotonic()
    for _ in range(1 if is_short else 3):
        faults.cycle(4 if is_short else 7, is_short) # a publication is waited for 5 s
    changes.end()
    wanted = {changes.extra(n) for n in changes.receipted if n % 10 == 0} | {'backend'}
    last = max([*changes.receipted, *(n for n in changes.unknown if n in envoys[0].traffic.first_at)])
    for envoy in envoys:
        envoy.expect_all(wanted, last)
    for envoy in envoys[:1] if is_short else envoys:
        check_move(test, replica_set, envoy)
    for envoy in envoys:
        envoy.traffic.stopped.set()
        envoy.traffic.join()
        check(f'{envoy.name}: {envoy.traffic.n_answered} requests answered, the longest after '
              f'{1000 * envoy.traffic.longest_s:.0f} ms', not envoy.traffic.failures or
              print(*envoy.traffic.failures[:20], sep='\n'))
        removals = envoy.removals()
        check('  nothing removed, said again or refused', not removals or print(removals))
        updates = collections.Counter(envoy.stats(r'^cluster.extra-\d+.update_success$').values())
        check(f'  and endpoints that do not change were sent once: {dict(updates)}', set(updates) == {1})
    check_reached(changes, envoys, first_fault_at)
    check('no replica has lost anything', all(
        wanted <= {one['name'].removeprefix('local/') for one in held(replica)} for replica in replica_set))


def body(test):
    replica_set, is_short = Set(test), test.variant == 'short'
    if is_short or test.variant == 'moves':
        check_moves(replica_set, 40 if is_short else 1000)
    if is_short or test.variant == 'first':
        check_first(test, replica_set, is_short)
    if is_short or test.variant == 'traffic':
        check_traffic(test, replica_set, is_short)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('short', 'moves', 'first', 'traffic')))
