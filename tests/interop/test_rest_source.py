#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node whose source is a control plane that serves REST and JSON: go-control-plane's gateway, which
does not hold requests, or another node, which does, with or without TLS.

A real Envoy below the node has all clusters with their endpoints, and their changes; keeps them while
the control plane is away, which udpactl status shows; and what the control plane has no more when it
is back, goes. With TLS, who shows no certificate gets nothing, and certificates can be replaced."""
import json
import shutil
import signal
import socket
import subprocess
import sys
import time

import interop
import envoy_peer
import udpactl

N_CLUSTERS, N_LATER = 20, 15
REFRESH_S = 0.5
HELD_S = 10
TYPES = ['envoy.config.cluster.v3.Cluster', 'envoy.config.endpoint.v3.ClusterLoadAssignment']
MAKE_CA = interop.SOURCE / 'certs' / 'make-development-ca'


def names(n):
    return [f'cluster-{i:06}' for i in range(n)]


def write_json(path, value):
    new = path.with_name(f'.{path.name}.new')
    new.write_text(json.dumps(value), encoding='utf-8')
    new.rename(path)


class Gateway:
    """go-control-plane; its clusters have marks that its changes set."""

    def __init__(self, test, port):
        self.test, self.port = test, port
        self.program = interop.go_program_or_skip(interop.SOURCE / 'tests' / 'bench' / 'go',
                                                  test.build / 'go-control-plane', './peer')
        self.process = None

    def start(self, n):
        self.process = interop.Process(
            [self.program, '-cache', 'snapshot', '-resources', str(n), '-rest',
             f'127.0.0.1:{self.port}'], self.test.work / 'go-control-plane.log')
        self.test.processes.append(self.process)
        words = self.process.wait_for_log('listening on ').split()
        self.changes = words[words.index('changes') + 2]

    def stop(self):
        self.process.kill()

    def change(self, kind, i, serial):
        host, port = self.changes.rsplit(':', 1)
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f'{kind} {i} {serial}\n'.encode())


class Core:
    """A node with files, which serves what the gateway serves."""

    def __init__(self, test, port):
        self.test, self.port, self.n, self.serials = test, port, 0, {}
        self.folder = test.work / 'resources'
        self.folder.mkdir()
        self.bootstrap = test.work / 'core.yaml'
        at = {'address': f'127.0.0.1:{port}'}
        if test.variant == 'udpad_tls':
            certs = test.work / 'certs'
            for name in ('core', 'edge'):
                subprocess.run([MAKE_CA, certs, name, '--dns', name], check=True,
                               capture_output=True)
            at['tls'] = {'certificate_file': f'{certs}/core.crt',
                             'private_key_file': f'{certs}/core.key',
                             'client_ca_file': f'{certs}/ca.crt'}
        write_json(self.bootstrap, {
            'static_resources': {'directories': [{'path': str(self.folder)}]},
            'descriptor_sets': [str(udpactl.descriptors(test))],
            'http': {'sockets': [at]}})
        self.node = None

    def put(self, kind, i):
        mark = f'serial-{self.serials.get((kind, i), 0):010}'
        name = names(i + 1)[i]
        resource = [
            {'@type': 'type.googleapis.com/' + TYPES[0], 'name': name, 'type': 'EDS',
             'alt_stat_name': mark, 'connect_timeout': '1s',
             'eds_cluster_config': {'eds_config': envoy_peer.ADS}},
            {'@type': 'type.googleapis.com/' + TYPES[1], 'cluster_name': name,
             'endpoints': [{'locality': {'sub_zone': mark},
                            'lb_endpoints': envoy_peer.endpoints(9)[0]['lb_endpoints']}]}][kind]
        write_json(self.folder / f'{kind}-{i}.json', resource)

    def start(self, n):
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for i in range(n):
            self.put(0, i)
            self.put(1, i)
        self.node = interop.Node(self.test, 'core', 0, self.bootstrap)

    def stop(self):
        self.node.stop()

    def change(self, kind, i, serial):
        self.serials[kind, i] = serial
        self.put(kind, i)


def source(test, port, with_certificate=True):
    tls = {}
    if test.variant == 'udpad_tls':
        certs = test.work / 'certs'
        tls = {'ca_file': f'{certs}/ca.crt', 'server_name': 'core'}
        if with_certificate:
            tls |= {'certificate_file': f'{certs}/edge.crt', 'private_key_file': f'{certs}/edge.key'}
    return {'address': f'127.0.0.1:{port}', 'authority': 'legacy',
            'refresh_delay': f'{REFRESH_S}s', 'request_timeout': f'{HELD_S}s',
            **({'tls': tls} if tls else {})}


def edge_file(test, name, rest, types=TYPES):
    path = test.work / f'{name}.yaml'
    write_json(path, {
        'static_resources': {'config_sources': [{'name': 'legacy', 'rest': rest}]},
        'providers': [{'types': types, 'config_descriptors': [{'resource_name': 'legacy'}]}],
        'descriptor_sets': [str(udpactl.descriptors(test))],
        'timing': {'backoff_max': '1s'}})
    return path


def status(test, node):
    """Of the node's one source."""
    out = subprocess.run([test.build / 'udpactl', '--server', node.address, 'status', 'sources',
                          '-o', 'json'], capture_output=True, text=True, check=True).stdout
    return json.loads(out)[0]['resource']


def wait_for_state(test, node, state):
    def look():
        found = status(test, node)
        return found if found.get('state') == state else None
    return interop.wait_for(f'a source that is {state}', look)


def has_endpoints(envoy, wanted):
    dump = json.loads(envoy.admin('/config_dump?include_eds'))
    return {config['endpoint_config']['cluster_name']
            for part in dump['configs'] if part['@type'].endswith('EndpointsConfigDump')
            for config in part.get('dynamic_endpoint_configs', [])
            if config['endpoint_config'].get('endpoints')} == set(wanted)


def check_changes(envoy, server):
    """How long each takes; the gateway is asked once a refresh, the node at once."""
    begin = time.monotonic()
    server.change(0, 3, 7)
    interop.wait_for('a changed cluster', lambda: envoy.active_clusters().get(
        names(4)[3], {}).get('alt_stat_name') == 'serial-0000000007')
    server.change(1, 5, 8)
    interop.wait_for('changed endpoints', lambda: 'serial-0000000008' in
                     envoy.admin('/config_dump?include_eds'))
    took = time.monotonic() - begin
    interop.check(f'changes of a cluster and of endpoints came through in {took:.1f} s',
                  took < HELD_S - 2)


def get_by_udpactl(test, port):
    """Looks at the control plane itself."""
    tls = []
    if test.variant == 'udpad_tls':
        certs = test.work / 'certs'
        tls = ['--ca', certs / 'ca.crt', '--server-name', 'core', '--cert', certs / 'edge.crt',
               '--key', certs / 'edge.key']
    for kind in ('cluster', 'endpoint'):
        out = subprocess.run([test.build / 'udpactl', '--server', f'127.0.0.1:{port}', *tls,
                              '--descriptors', udpactl.descriptors(test), 'xds', 'get', kind,
                              '--rest', '-o', 'name'],
                             capture_output=True, text=True, check=True).stdout
        interop.check(f'udpactl gets each {kind} by REST',
                      sorted(line.rsplit('/', 1)[1] for line in out.split()) == names(N_CLUSTERS))


def check_mistake(test, port):
    path = edge_file(test, 'mistaken', source(test, port),
                     ['envoy.config.route.v3.VirtualHost'])
    done = subprocess.run([test.build / 'udpad', '--check', '-c', path], capture_output=True,
                          text=True, check=False)
    interop.check('--check tells of a type that REST has not',
                  done.returncode == 2 and 'REST has no path for type' in done.stderr)


def check_stranger(test, port):
    """Another node, which shows no certificate."""
    stranger = interop.Node(test, 'stranger', 0, edge_file(
        test, 'stranger', source(test, port, with_certificate=False)))
    found = interop.wait_for('a refusal', lambda: status(test, stranger).get('lastError'))
    interop.check(f'who shows no certificate gets nothing: {found}',
                  'certificate of ours' in found)
    stranger.stop()


def check_reload(test, port):
    """A node that was given certificates of somebody else, and then the right ones."""
    subprocess.run([MAKE_CA, test.work / 'others', 'late'], check=True, capture_output=True)
    rest = source(test, port)
    rest['tls'] |= {'certificate_file': str(test.work / 'others' / 'late.crt'),
                    'private_key_file': str(test.work / 'others' / 'late.key')}
    late = interop.Node(test, 'late', 0, edge_file(test, 'late', rest))
    found = interop.wait_for('a refusal', lambda: status(test, late).get('lastError'))
    interop.check(f'whom nobody vouches for gets nothing: {found}', 'our certificate' in found)
    for end in ('crt', 'key'):
        shutil.copy(test.work / 'certs' / f'edge.{end}', test.work / 'others' / f'late.{end}')
    late.process.send_signal(signal.SIGHUP)
    late.wait_for_log('reloaded: certificates of sockets and sources')
    wait_for_state(test, late, 'ACTIVE')
    interop.check('with certificates that are read again it is served', True)
    late.stop()


def body(test):
    binary = interop.envoy_or_skip()
    port, edge_port = interop.free_ports(2)
    server = (Gateway if test.variant == 'go_control_plane' else Core)(test, port)
    server.start(N_CLUSTERS)
    config = edge_file(test, 'edge', source(test, port))
    edge = interop.Node(test, 'edge', edge_port, config)
    envoy = envoy_peer.Envoy(test, binary, edge_port, config=envoy_peer.bootstrap(
        'envoy', 'DELTA_GRPC', edge_port))
    envoy.wait_for_clusters(names(N_CLUSTERS))
    interop.wait_for('endpoints of all clusters', lambda: has_endpoints(envoy, names(N_CLUSTERS)))
    interop.check(f'{N_CLUSTERS} clusters and their endpoints came through the node', True)
    found = wait_for_state(test, edge, 'ACTIVE')
    interop.check('its kind is rest', found['kind'] == 'rest')
    interop.check('it is known by its certificate, if it has one',
                  found.get('peerIdentity') == ('core' if test.variant == 'udpad_tls' else None))
    get_by_udpactl(test, port)
    check_mistake(test, port)
    if test.variant == 'udpad_tls':
        check_stranger(test, port)
        check_reload(test, port)
    check_changes(envoy, server)

    server.stop()
    found = wait_for_state(test, edge, 'WAITING')
    interop.check(f'the source is shown as lost: {found["lastError"]}',
                  f'127.0.0.1:{port}' in found['lastError'])
    edge.stop()
    edge = interop.Node(test, 'edge', edge_port, config)
    interop.wait_for('Envoy on a stream of the node that was restarted', envoy.is_connected)
    interop.check('without the control plane the node serves what it had',
                  envoy.clusters() == set(names(N_CLUSTERS)))

    server.start(N_LATER)
    envoy.wait_for_clusters(names(N_LATER))
    interop.wait_for('endpoints of what is left', lambda: has_endpoints(envoy, names(N_LATER)))
    interop.check('what the control plane has no more is gone, and no more than that', True)
    wait_for_state(test, edge, 'ACTIVE')
    interop.check('Envoy has rejected nothing',
                  not envoy.stat('cluster_manager.cds.update_rejected'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('go_control_plane', 'udpad', 'udpad_tls')))
