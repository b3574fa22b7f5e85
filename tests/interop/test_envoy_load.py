#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Envoy reports load when somebody wants it: the counts are those of the requests that were sent, to
the request, with what is in progress; and when nobody wants it any more it is asked for nothing.

Variants: the wish is for everything, so that Envoy is asked for all clusters; for one by name; or for
the sum over all clients of the node.
"""
import collections
import http.server
import json
import sys
import threading
import urllib.error
import urllib.request

import interop
import envoy_peer
from interop import check, wait_for
from udpa_peer import Peer, sessions
from udpactl import Ctl
from google.protobuf import json_format
from envoy.config.cluster.v3 import cluster_pb2

LOAD, SUM = 'udpa.load.v1.ClientLoad', 'udpa.load.v1.ClusterLoad'
EXTENSIONS = 'type.googleapis.com/envoy.extensions.filters.'
INTERVAL = '0.3s'
NOT_FOUND = 1  # exit status of udpactl get


class Backend:
    """Answers with 200, on /bad with 503, and on /slow when it is told to."""

    def __init__(self):
        self.go_on = go_on = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                if self.path == '/slow':
                    go_on.wait(interop.STOP_PATIENCE_S)
                self.send_response(503 if self.path == '/bad' else 200)
                self.send_header('Content-Length', '0')
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def cluster(name, port):
    locality = envoy_peer.endpoints(port)[0]
    locality['locality'] = {'region': 'here', 'zone': 'here-1'}
    return json_format.ParseDict({
        'name': name, 'type': 'STATIC', 'connect_timeout': '1s',
        'load_assignment': {'cluster_name': name, 'endpoints': [locality]},
    }, cluster_pb2.Cluster())


def envoy_config(node):
    """/other goes to another cluster."""
    config = envoy_peer.bootstrap('envoy', 'DELTA_GRPC', node.port)
    config['cluster_manager'] = {'load_stats_config': envoy_peer.api('GRPC')}
    routes = [{'match': {'prefix': '/other'}, 'route': {'cluster': 'other'}},
              {'match': {'prefix': '/'}, 'route': {'cluster': 'backend'}}]
    manager = {
        '@type': EXTENSIONS + 'network.http_connection_manager.v3.HttpConnectionManager',
        'stat_prefix': 'ingress',
        'route_config': {'validate_clusters': False, 'virtual_hosts': [
            {'name': 'all', 'domains': ['*'], 'routes': routes}]},
        'http_filters': [{'name': 'router', 'typed_config': {
            '@type': EXTENSIONS + 'http.router.v3.Router'}}]}
    config['static_resources']['listeners'] = [{
        'name': 'ingress',
        'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}},
        'filter_chains': [{'filters': [{'name': 'http', 'typed_config': manager}]}]}]
    return config


def node_config(test):
    path = test.work / 'node.yaml'
    path.write_text(json.dumps({
        'load_reporting': {'interval': INTERVAL, 'per_endpoint': True},
        'timing': {'interest_linger': '0.2s'},
    }), encoding='utf-8')
    return path


class Client:
    """Sends requests through Envoy, and knows what came of them."""

    def __init__(self, envoy):
        self.url = f'http://127.0.0.1:{envoy.listener_ports()["ingress"]}'
        self.sent = collections.Counter()

    def send(self, path, n):
        for _ in range(n):
            try:
                with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                    self.sent[answer.status] += 1
            except urllib.error.HTTPError as error:
                self.sent[error.code] += 1


def loads(ctl, kind=LOAD, names=()):
    """What udpactl shows of the load of clients, by name. To ask for more than is watched would have Envoy asked
    anew each time, and it would begin to count again."""
    process = ctl.start('get', kind, *names, '-o', 'json')
    out, err = process.communicate(timeout=interop.STOP_PATIENCE_S)
    if process.returncode != 0 and not (names and process.returncode == NOT_FOUND):
        raise interop.Failure(f'udpactl get: {err}')
    return {resource['name']: resource['resource'] for resource in json.loads(out or '[]')}


def figures(load):
    """Requests of the only locality: successful, failed, issued, in progress."""
    if not load or not load.get('localities'):
        return None
    locality, = load['localities']
    requests = locality.get('requests', {})
    return tuple(int(requests.get(name, 0))
                 for name in ('successful', 'error', 'issued', 'inProgress'))


def wait_for_figures(ctl, kind, name, wanted, names=()):
    found = []

    def look():
        found[:] = [figures(loads(ctl, kind, names).get(name))]
        return found[0] == wanted
    try:
        wait_for(f'{wanted} of {name}', look)
    except interop.Failure as failure:
        raise interop.Failure(f'{failure}: the last was {found[0]}') from None
    print(f'ok: {wanted} of {name}', flush=True)


def reporting(test, node):
    """What the node says of the LRS stream of the Envoy."""
    return next((session.load_reporting for session in sessions(test.build, node.address)
                 if session.protocol == 'lrs'), None)


def body(test):
    binary = interop.envoy_or_skip()
    backend = Backend()
    node = interop.Node(test, 'node', bootstrap=node_config(test))
    ctl = Ctl(test, node)
    with Peer(test.build, node.address) as peer:
        peer.publish([(name, cluster(name, backend.port)) for name in ('backend', 'other')])
    envoy = envoy_peer.Envoy(test, binary, node.port, config=envoy_config(node))
    envoy.wait_for_clusters(['backend', 'other'])
    client = Client(envoy)
    wait_for('the LRS stream of Envoy', lambda: reporting(test, node))
    client.send('/', 3)  # before anybody wants to know: Envoy counts from when it is asked
    check('nothing is asked while nobody wants anything', not envoy.stat('load_reporter.requests'))

    kind, reporter = (SUM, 'node') if test.variant == 'sum' else (LOAD, 'envoy')
    names = ['backend/envoy'] if test.variant == 'named' else []
    watch = ctl.start('watch', kind, *names, '-o', 'json')
    wait_for('Envoy to be asked', lambda: envoy.stat('load_reporter.requests') == 1)
    asked = reporting(test, node)
    check(f'Envoy is asked for {asked}', asked.all_clusters == (not names) and
          list(asked.clusters) == (['backend'] if names else []))

    client.sent.clear()
    client.send('/', 57)
    client.send('/bad', 5)
    client.send('/other', 7)
    check(f'{dict(client.sent)} were answered', client.sent == {200: 64, 503: 5})
    wait_for_figures(ctl, kind, f'local/backend/{reporter}', (57, 5, 62, 0), names)
    if not names:
        wait_for_figures(ctl, kind, f'local/other/{reporter}', (7, 0, 7, 0))
    slow = threading.Thread(target=client.send, args=('/slow', 1))
    slow.start()
    wait_for_figures(ctl, kind, f'local/backend/{reporter}', (57, 5, 63, 1), names)
    backend.go_on.set()
    slow.join()
    client.send('/', 1000)
    wait_for_figures(ctl, kind, f'local/backend/{reporter}', (1058, 5, 1063, 0), names)
    load = loads(ctl, kind, names)[f'local/backend/{reporter}']
    endpoint, = load['localities'][0]['endpoints']
    check(f'the endpoint has the same counts: {endpoint}',
          endpoint['port'] == backend.port and endpoint['requests'] ==
          {'successful': '1058', 'error': '5', 'issued': '1063'})
    check(f'{load["cluster"]} in {load["localities"][0]["zone"]}',
          load['cluster'] == 'local/backend' and load['localities'][0]['zone'] == 'here-1')

    watch.terminate()
    lines = watch.communicate(timeout=interop.STOP_PATIENCE_S)[0].splitlines()
    check(f'udpactl watch has seen {len(lines)} changes', len(lines) >= 3)
    wait_for('Envoy to be asked for nothing', lambda: envoy.stat('load_reporter.requests') >= 2
             and not (asked := reporting(test, node)).all_clusters and not asked.clusters)
    check(f'nothing was refused: {(said := reporting(test, node))}', said.n_refused == 0)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('all', 'named', 'sum')))
