#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A source that one replica is connected to for all: go-control-plane by xDS or by REST, or a node by
UDPA. All replicas serve the same versions of what it has; when the elected one is killed, the next one
connects, and no client receives anything; when the source is lost, all fail over, and back. rules: a node
by UDPA, and what rules reject of it, and allow again."""
import json
import shutil
import signal
import sys
import threading
import time

import interop

import grpc
from interop import check, free_ports, never, run, wait_for

from etcd import Cluster, program_or_skip
from go_control_plane import GoControlPlane
from go_control_plane import program_or_skip as control_plane_or_skip
from store_node import StoreNode
from xds_peer import CLUSTER, Client

WAIT_S = 3
LEASE_S = 25 # as in replica_shared
N = 20
ENDPOINT = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment'
TYPES = ['envoy.config.cluster.v3.Cluster', 'envoy.config.endpoint.v3.ClusterLoadAssignment']


# ---- the source ----

class Core:
    """A node that has its clusters and endpoints in files."""

    def __init__(self, test, port, dropped):
        self.test, self.port, self.serials, self.dropped = test, port, {}, dropped
        self.folder = test.work / 'core'
        self.folder.mkdir(exist_ok=True)
        self.write()
        self.node = interop.Node(test, 'core', port, self.config())

    def config(self):
        path = self.test.work / 'core.yaml'
        path.write_text(json.dumps({'node': {'id': 'core', 'namespace': 'local'}, 'static_resources': {
            'directories': [{'path': str(self.folder), 'authority': 'legacy'}]}}), encoding='utf-8')
        return path

    def write(self):
        there = [name for name in names() if name != self.dropped]
        new = self.folder / '.new'
        new.write_text(json.dumps([
            {'name': f'local/{name}', 'resource': {'@type': CLUSTER, 'name': name,
                                                   'alt_stat_name': f'serial-{self.serials.get(name, 0):010}'}}
            for name in there] + [
            {'name': f'local/{name}', 'resource': {'@type': ENDPOINT, 'cluster_name': name}}
            for name in there]), encoding='utf-8')
        new.rename(self.folder / 'all.json')

    def drop(self, name):
        self.dropped = name
        self.write()

    def change(self, _kind, i, serial):
        self.serials[names()[i]] = serial
        self.write()

    def end(self):
        self.node.process.kill()
        self.node.process.wait()

    def wipe(self):
        """As if its disk had been lost."""
        shutil.rmtree(self.test.work / 'core-data')


def names():
    return [f'cluster-{i:06}' for i in range(N)]


class Source:
    def __init__(self, test):
        self.test = test
        self.port, = free_ports(1)
        self.is_node = test.variant in ('udpa', 'rules')
        self.program = None if self.is_node else control_plane_or_skip(test)
        self.start()

    def start(self, dropped=''):
        if self.is_node:
            self.server = Core(self.test, self.port, dropped)
        else:
            self.server = GoControlPlane(self.test, self.program, 'snapshot', self.port, N,
                                         is_rest=self.test.variant == 'rest')

    def config(self):
        address = {'address': f'127.0.0.1:{self.port}'}
        if self.is_node:
            return {'name': 'legacy', 'udpa': address}
        delay = {'refresh_delay': '0.3s'} if self.test.variant == 'rest' else {}
        return {'name': 'legacy', self.test.variant: {**address, 'authority': 'legacy', **delay}}


# ---- the replicas ----

class Replica(StoreNode):
    def __init__(self, test, cluster, name, source):
        super().__init__(test, cluster, name)
        (self.home / 'backup').mkdir()
        (self.home / 'backup' / 'all.json').write_text(json.dumps(
            [{'name': f'local/{name}', 'resource': {'@type': CLUSTER, 'name': name, 'alt_stat_name': 'backup'}}
             for name in names()]), encoding='utf-8')
        self.source = source.config()
        self.configure(**rules('local') if test.variant == 'rules' else {})
        self.start()

    def configure(self, **sections):
        self.write('/udpa/sources', **self.resources(self.source),
                   timing={'backoff_max': '0.5s', 'connect_grace': '1s', 'fail_back_delay': '0.5s'}, **sections)

    def resources(self, source):
        """By xDS, each replica asks for endpoints itself."""
        is_apart = self.test.variant == 'xds'
        return {
            'static_resources': {'config_sources': [
                {**source, 'replicas': 'SHARED' if is_apart else 'SHARED_WITH_ENDPOINTS'},
                {**source, 'name': 'endpoints'}, {'name': 'backup', 'path': {'path': 'backup'}}]},
            'providers': [{'types': TYPES[:1] if is_apart else TYPES, 'config_descriptors': [
                {'resource_name': 'legacy', 'continuation': 'STOP_ON_SUCCESS'},
                {'resource_name': 'backup', 'continuation': 'STOP_ON_SUCCESS'}]}] + is_apart * [
                    {'types': TYPES[1:], 'config_descriptors': [
                        {'resource_name': 'endpoints', 'mode': 'ON_DEMAND'}]}]}

    def start(self):
        super().start()
        self.wait_for_log('listening on ')

    def served(self, kind=CLUSTER, some=()):
        """What a client receives that connects now: what marks it, and its version, by name."""
        with Client(self.address, timeout_s=WAIT_S) as client:
            client.send(kind, some)
            return {one.name: (mark_of(one.resource.value), one.version)
                    for one in client.receive().resources}

    def is_connected(self):
        return 'source legacy: connected' in self.text()


def rules(namespace):
    """What the source may publish. The dry run is over before it is connected."""
    return {'runtime': {'layers': [{'name': 'base', 'static_layer': {'udpa.acl.dry_run': False}}]},
            'acl': {'dry_run': True, 'rules': [
                {'name': 'source', 'identities': ['legacy'], 'actions': ['PUBLISH'], 'types': TYPES[:1],
                 'namespaces': [namespace], 'on_behalf_of': ['*']},
                {'name': 'all', 'identities': ['*'], 'actions': ['SUBSCRIBE', 'ADMIN']}]}}


def mark_of(value):
    at = value.find(b'serial-')
    return value[at:at + 17].decode() if at >= 0 else 'backup' if b'backup' in value else ''


class Loyal:
    """A client that stays at one replica, and counts what it receives."""

    def __init__(self, replica):
        self.client = Client(replica.address, node_id=f'loyal-{replica.name}')
        self.n, self.removed = 0, []
        self.client.send(CLUSTER)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                self.client.answer(response)
                self.n += len(response.resources)
                self.removed += response.removed_resources
        except grpc.RpcError:
            pass


def wait_all(replicas, what, is_so, patience_s=20):
    for one in replicas:
        wait_for(f'{one.name} that serves {what}', lambda one=one: is_so(one.served()), patience_s)
    all_served = [one.served() for one in replicas]
    check(f'{len(replicas)} replicas serve {what}, with the same versions',
          all(served == all_served[0] for served in all_served))


def has_serial(i, serial):
    return lambda served: len(served) == N and served[names()[i]][0] == f'serial-{serial:010}'


def is_backup(served):
    return len(served) == N and all(mark == 'backup' for mark, _ in served.values())


def is_explained(replica):
    line = next((line for line in replica.take('status', 'sources').splitlines()
                 if line.startswith('legacy ')), '')
    return 'active' not in line and ('the elected replica, ' in line or 'connect' in line)


def check_endpoints(replicas):
    wanted = names()[:3]
    for one in replicas:
        wait_for(f'endpoints at {one.name}', lambda one=one: len(one.served(ENDPOINT, wanted)) == 3)
    all_served = [one.served(ENDPOINT, wanted) for one in replicas]
    check('and the same endpoints', all(served == all_served[0] for served in all_served))


def lose_one(replicas, source):
    source.server.drop(names()[5])
    wait_all(replicas, 'what is left', lambda served: len(served) == N - 1 and names()[5] not in served)
    source.server.drop('')
    wait_all(replicas, 'all again', lambda served: len(served) == N)


def lose_the_elected(replicas, source):
    elected, others = replicas[0], replicas[1:]
    clients = [Loyal(one) for one in others]
    wait_for('clients that are served', lambda: all(client.n == N for client in clients))
    elected.process.send_signal(signal.SIGKILL)
    begin = time.monotonic()
    wait_for('the next one that is connected', lambda: any(one.is_connected() for one in others), LEASE_S)
    print(f'  {time.monotonic() - begin:.1f} s after the elected one was killed')
    never('anything at their clients', lambda: any(client.n != N or client.removed for client in clients), 2)
    source.server.change(0, 4, 8)
    wait_all(others, 'the next change', has_serial(4, 8))
    check('one of them is connected', sum(one.is_connected() for one in others) == 1)
    check('no client has lost anything', not any(client.removed for client in clients))
    elected.start()
    wait_all(replicas, 'the same', has_serial(4, 8))


def lose_the_source(replicas, source):
    clients = [Loyal(one) for one in replicas]
    wait_for('clients that are served', lambda: all(client.n == N for client in clients))
    source.server.end()
    begin = time.monotonic()
    wait_all(replicas, 'what the next source has', is_backup)
    print(f'  {time.monotonic() - begin:.1f} s after the source was lost')
    for one in replicas:
        wait_for(f'{one.name} that says why', lambda one=one: is_explained(one))
    check('each says why, in udpactl status sources', True)
    source.start()
    wait_all(replicas, 'what the source has again', lambda served: len(served) == N and not is_backup(served))
    check('no client has lost anything', not any(client.removed for client in clients))


def lose_its_store(replicas, source):
    """What it has lost with it is not removed, nor does it count again, until that is accepted."""
    lost = names()[6]
    source.server.end()
    source.server.wipe()
    wait_all(replicas, 'what the next source has', is_backup)
    source.start(dropped=lost)
    elected = wait_for('one that holds what is missing', lambda: next((
        one for one in replicas if f'sources accept legacy. They are: local/{lost}' in one.text()), None))
    check('and says why', 'its store is not the one that it had before' in elected.take('status', 'sources'))
    never('another than the next source', lambda: not all(is_backup(one.served()) for one in replicas), 2)
    status, text = elected.ctl('sources', 'accept', 'legacy')
    check('it can be accepted', status == 0 and '2 removals accepted' in text or print(text))
    wait_all(replicas, 'what it has', lambda served: served.get(names()[0], ('',))[0] == 'serial-0000000000')
    source.server.change(0, 7, 9)
    wait_all(replicas, 'what it has then', lambda served: served[names()[7]][0] == 'serial-0000000009')
    check('without what it has lost', all(lost not in one.served() for one in replicas))


def allow(replicas, namespace):
    for one in replicas:
        one.configure(**rules(namespace))
        one.process.send_signal(signal.SIGHUP)


def check_rules(replicas):
    check('of what is not allowed nothing is served', not any(one.served(ENDPOINT, names()) for one in replicas))
    before = replicas[0].served()
    allow(replicas, 'elsewhere')
    wait_all(replicas, 'nothing of what is not allowed any more', lambda served: not served)
    allow(replicas, 'local')
    wait_all(replicas, 'what is allowed again, as it was', lambda served: served == before)
    check('nothing was held', not any('accept legacy' in one.text() for one in replicas))


def body(test):
    source = Source(test)
    cluster = Cluster(test, program_or_skip(test, 'debian'), 1)
    a = Replica(test, cluster, 'a', source)
    a.wait_for_log('source legacy: connected')
    replicas = [a, Replica(test, cluster, 'b', source), Replica(test, cluster, 'c', source)]
    wait_all(replicas, 'what the source has', lambda served: len(served) == N and not is_backup(served))
    if test.variant == 'rules':
        check_rules(replicas)
        return
    check_endpoints(replicas)
    check('one of them is connected', [one.is_connected() for one in replicas] == [True, False, False])
    source.server.change(0, 3, 7)
    wait_all(replicas, 'a change', has_serial(3, 7))
    if test.variant == 'udpa':
        lose_one(replicas, source)
    lose_the_elected(replicas, source)
    lose_the_source(replicas, source)
    if test.variant == 'udpa':
        lose_its_store(replicas, source)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, ('xds', 'rest', 'udpa', 'rules')))
