#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An Envoy that only reads files gets clusters, endpoints, listeners and routes from a node that
writes them; then a change of each, and a removal. It never refuses one, because what refers to a file
is written behind it, and a file is removed behind what referred to it."""
import json
import os
import subprocess
import sys
import urllib.request

import interop
import envoy_peer
import envoy_resources as resources
from stage import Backend
from udpa_peer import Peer

SUFFIXES = {'binary': '.pb', 'json': '.json', 'yaml': '.yaml'}
BAD_STATS = 'update_rejected|update_failure|config_reload_error|config_fail|init_fetch_timeout'


class Setting:
    def __init__(self, test):
        self.directory = test.work / 'files'
        self.suffix = SUFFIXES[test.variant]
        self.backends = [Backend(name) for name in ('first', 'second')]

    def path(self, *parts):
        return self.directory.joinpath(*parts[:-1], parts[-1] + self.suffix)

    def source(self, *parts):
        return {'path_config_source': {'path': str(self.path(*parts))},
                'resource_api_version': 'V3'}

    def node(self, test):
        descriptors = os.environ.get('UDPA_ENVOY_DESCRIPTORS', '')
        if not os.path.exists(descriptors):
            interop.skip('UDPA_ENVOY_DESCRIPTORS names no file with the descriptors of Envoy')
        config = test.work / 'node.yaml'
        config.write_text(json.dumps({
            'descriptor_sets': [descriptors],
            'audiences': [
                {'name': 'files', 'match': {'node_ids': ['files']}},
                {'name': 'others', 'default_namespace': 'others'}],
            'write_files': [{'directory': str(self.directory), 'client': {'node_id': 'files'},
                             'format': test.variant.upper()}]}))
        return config

    def cluster(self, name, service, timeout='1s'):
        written = service.replace('/', '%2F')
        return envoy_peer.eds_cluster(name, timeout, self.source('endpoints', written), service)

    def listener(self, name, route, server):
        return resources.listener(name, {**resources.by_rds(route, self.source('routes', route)),
                                         'server_name': server})

    def bootstrap(self):
        return {
            'node': {'id': 'files', 'cluster': 'interop'},
            'admin': {'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}}},
            'dynamic_resources': {'cds_config': self.source('clusters'),
                                  'lds_config': self.source('listeners')}}


def to(cluster, mark):
    return [{'match': {'prefix': '/'}, 'route': {'cluster': cluster},
             'response_headers_to_add': resources.headers(x_route=mark)}]


class Bench:
    def __init__(self, setting, envoy):
        self.setting = setting
        self.envoy = envoy

    def answer(self, name='main'):
        port = self.envoy.listener_ports().get(name)
        if not port:
            return None
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/', timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def sees(self, what, look):
        interop.wait_for(what, look)
        print(f'ok: {what}', flush=True)

    def check_counters(self):
        wrong = {name: value for name, value in self.envoy.stats(BAD_STATS).items() if value}
        interop.check(f'no counter of failure moved: {wrong}', not wrong)


def check_names(setting):
    """Names cannot lead anywhere else."""
    interop.check('a slash in a name is written %2F', setting.path('endpoints', 'a%2Fone').exists())
    interop.check('what nobody refers to is not written',
                  not setting.path('endpoints', 'unused').exists())
    mode = setting.path('clusters').stat().st_mode & 0o777
    interop.check(f'files are not for everybody: {mode:o}', mode & 0o007 == 0)


def change_each(bench, peer):
    setting = bench.setting
    peer.publish([('a/one', envoy_peer.assignment('a/one', setting.backends[1].port))])
    bench.sees('EDS: other endpoints', lambda: bench.answer() == 'this is second')
    peer.publish([('back', setting.cluster('back', 'a/one', '3s'))])
    bench.sees('CDS: another timeout', lambda: bench.envoy.active_clusters().get(
        'back', {}).get('connect_timeout') == '3s')
    peer.publish([('main', resources.route('main', [resources.direct('/', 'direct')]))])
    bench.sees('RDS: another route', lambda: bench.answer() == 'direct')
    peer.publish([('second', setting.listener('second', 'other', 's')),
                  ('other', resources.route('other', [resources.direct('/', 'other')]))])
    bench.sees('LDS: one more listener, with its route', lambda: bench.answer('second') == 'other')
    peer.publish([('main', resources.route('main', to('back', 'again')))])
    bench.sees('RDS: the old route again', lambda: bench.answer() == 'this is second')


def move_and_remove(bench, peer):
    setting = bench.setting
    peer.publish([('two', envoy_peer.assignment('two', setting.backends[0].port)),
                  ('back', setting.cluster('back', 'two'))])
    bench.sees('EDS under another name', lambda: bench.answer() == 'this is first')
    bench.sees('the file of the old name goes',
               lambda: not setting.path('endpoints', 'a%2Fone').exists())
    peer.publish([('spare', envoy_peer.static_cluster('spare'))])
    bench.sees('CDS: one more', lambda: bench.envoy.clusters() == {'back', 'spare'})
    peer.remove(envoy_peer.TYPE_CLUSTER, ['spare'])
    bench.sees('CDS: it is gone', lambda: bench.envoy.clusters() == {'back'})
    peer.remove(resources.TYPE_LISTENER, ['second'])
    bench.sees('LDS: it is gone', lambda: set(bench.envoy.listener_ports()) == {'main'})
    bench.sees('and the file of its route', lambda: not setting.path('routes', 'other').exists())


def survive_failure(test, bench, peer, node):
    """What cannot be written is told and tried again; Envoy goes on with what it has."""
    def status():
        return subprocess.run([test.build / 'udpactl', '--server', node.address, 'status'],
                              capture_output=True, text=True, check=False).stdout

    setting = bench.setting
    obstacle = setting.path('routes', 'blocked')
    obstacle.mkdir()
    peer.publish([('blocked', resources.route('blocked', [resources.direct('/', 'blocked')])),
                  ('more', setting.listener('more', 'blocked', 's'))])
    bench.sees('status says what cannot be written',
               lambda: f'{obstacle}: cannot be written' in status())
    interop.check('Envoy goes on', bench.answer() == 'this is first')
    interop.check('and is not told of the listener', 'more' not in bench.envoy.listener_ports())
    obstacle.rmdir()
    bench.sees('it is written when it can be', lambda: bench.answer('more') == 'blocked')
    bench.sees('and status is content', lambda: str(obstacle) not in status())


def restart(test, bench, node, config):
    """Files stay, and are not touched if nothing has changed."""
    setting = bench.setting
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns)
              for path in setting.directory.rglob('*' + setting.suffix)}
    node.stop()
    (setting.path('routes', 'stale')).write_text('left by somebody')
    again = interop.Node(test, 'node', bootstrap=config)
    bench.sees('a file that belongs to nothing goes when the node is back',
               lambda: not setting.path('routes', 'stale').exists())
    after = {path: (path.stat().st_ino, path.stat().st_mtime_ns)
             for path in setting.directory.rglob('*' + setting.suffix)}
    interop.check('all others are the same', before == after)
    with Peer(test.build, again.address) as peer:
        peer.publish([('main', resources.route('main', [resources.direct('/', 'back')]))])
        bench.sees('a change behind the restart', lambda: bench.answer() == 'back')


def body(test):
    binary = interop.envoy_or_skip()
    setting = Setting(test)
    config = setting.node(test)
    node = interop.Node(test, 'node', bootstrap=config)
    with Peer(test.build, node.address) as peer:
        peer.publish([
            ('back', setting.cluster('back', 'a/one')),
            ('a/one', envoy_peer.assignment('a/one', setting.backends[0].port)),
            ('unused', envoy_peer.assignment('unused', 9)),
            ('main', setting.listener('main', 'main', 'one'))])
        # Envoy refuses a path that is not there.
        interop.wait_for('the files of clusters and listeners', lambda: all(
            setting.path(name).exists() for name in ('clusters', 'listeners')))
        interop.wait_for('the file of a route that is not there',
                         lambda: setting.path('routes', 'main').exists())
        envoy = envoy_peer.Envoy(test, binary, node.port, config=setting.bootstrap())
        bench = Bench(setting, envoy)
        peer.publish([('main', resources.route('main', to('back', 'one')))])
        bench.sees('all four types are seen in an answer',
                   lambda: bench.answer() == 'this is first')
        check_names(setting)
        change_each(bench, peer)
        move_and_remove(bench, peer)
        survive_failure(test, bench, peer, node)
        bench.check_counters()
    restart(test, bench, node, config)
    bench.check_counters()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(SUFFIXES)))
