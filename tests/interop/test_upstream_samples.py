#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""go-control-plane's own integration test, with a node between its server and its Envoy.

Its program is the server, makes snapshots with all types, and calls Envoy by each listener: those with
routes, with scopes of routes, with virtual hosts on demand, and of TCP. Each snapshot has other names
of routes and clusters. Envoy has the sample bootstraps that come with it, and the node nothing but its
source: it mirrors, as it does by default."""
import http.server
import json
import random
import socket
import subprocess
import sys
import threading

import interop
import envoy_peer
import udpactl

MODULE = 'github.com/envoyproxy/go-control-plane'
BENCH = interop.SOURCE / 'tests' / 'bench' / 'go'
MESSAGE = 'Hi, there!\n'
NODE = {'id': 'test-id', 'cluster': 'test-cluster'}
N_LISTENERS = 8
# Its mux knows neither delta nor Fetch: with those its program fails by itself, without a node.
EXTRAS = {'plain': [], 'tls': ['-tls'], 'mux': ['-mux'], 'tls_mux': ['-tls', '-mux']}
WITHOUT_MUX = ['plain', 'tls']
# Variant: its mode, what else is tried with it, snapshots, batches of requests for each.
VARIANTS = {
    'short': ('delta', ['plain'], 2, 8),
    'ads': ('ads', EXTRAS, 3, 12),
    'xds': ('xds', EXTRAS, 3, 12),
    'rest': ('rest', WITHOUT_MUX, 3, 20),
    'delta': ('delta', WITHOUT_MUX, 3, 12),
    'delta_ads': ('delta-ads', WITHOUT_MUX, 3, 12),
}


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', str(len(MESSAGE)))
        self.end_headers()
        self.wfile.write(MESSAGE.encode())

    def log_message(self, *_):
        pass


class Backend(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """Who calls waits for 0.1 s only."""


def start_backend():
    server = Backend(('127.0.0.1', 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def free_row(n):
    """The first of so many free ports in a row."""
    for _ in range(200):
        first, held = random.randrange(20000, 30000), []
        try:
            for port in range(first, first + n):
                held.append(socket.create_server(('127.0.0.1', port)))
            return first
        except OSError:
            continue
        finally:
            for one in held:
                one.close()
    raise interop.Failure(f'no {n} free ports in a row')


def sample(mode, node_port, als_port):
    """The bootstrap that comes with it, with other ports."""
    folder = subprocess.run([interop.go_or_skip(), 'list', '-m', '-f', '{{.Dir}}', MODULE],
                            cwd=BENCH, capture_output=True, text=True, check=True).stdout.strip()
    with open(f'{folder}/sample/bootstrap-{mode}.yaml', encoding='utf-8') as file:
        text = file.read()
    server_port = 18001 if mode == 'rest' else 18000
    for before, after in ((19000, 0), (server_port, node_port), (18090, als_port)):
        assert f'port_value: {before}\n' in text, before
        text = text.replace(f'port_value: {before}\n', f'port_value: {after}\n')
    return text


def start_node(test, name, mode, legacy_port, node_port):
    at = {'address': f'127.0.0.1:{legacy_port}', 'authority': 'legacy', 'client': NODE}
    config = {}
    if mode == 'rest':
        config = {'http': {'sockets': [{'address': f'127.0.0.1:{node_port}'}]},
                  'descriptor_sets': [str(udpactl.descriptors(test))]}
        source = {'rest': {**at, 'refresh_delay': '0.5s'}}
    else:
        protocol = 'DELTA' if mode.startswith('delta') else 'STATE_OF_THE_WORLD'
        source = {'xds': {**at, 'protocol': protocol}}
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps({
        **config,
        'static_resources': {'config_sources': [{'name': 'legacy', **source}]},
        'providers': [{'config_descriptors': [{'resource_name': 'legacy'}]}],
    }), encoding='utf-8')
    return interop.Node(test, name, 0 if mode == 'rest' else node_port, path)


def play(test, program, mode, extra, n_snapshots, n_batches):
    backend = start_backend()
    port, gateway, als, node_port = interop.free_ports(4)
    server = interop.Process(
        [program, '-xds', mode, '-runtimes', '2' if mode == 'ads' else '1', '-message', MESSAGE,
         '-port', str(port), '-gateway', str(gateway), '-als', str(als),
         '-upstream', str(backend.server_port), '-base', str(free_row(N_LISTENERS)),
         '-u', str(n_snapshots), '-r', str(n_batches), *EXTRAS[extra]],
        test.work / f'server-{extra}.log')
    test.processes.append(server)
    node = start_node(test, f'node-{extra}', mode, gateway if mode == 'rest' else port, node_port)
    envoy = envoy_peer.Envoy(test, interop.envoy_or_skip(), node_port, f'envoy-{extra}',
                             config=sample(mode, node_port, als))
    status = server.process.wait(timeout=30 + n_snapshots * n_batches * 4)
    told = (test.work / f'server-{extra}.log').read_text(encoding='utf-8', errors='replace')
    last = [line for line in told.splitlines() if 'request batch' in line][-1:]
    interop.check(f'{mode}, {extra}: every listener has answered in each of {n_snapshots} '
                  f'snapshots; last: {last}',
                  status == 0 and f'Test for {mode} passed!' in told)
    envoy.kill()
    node.stop()
    backend.shutdown()


def body(test):
    interop.envoy_or_skip()
    program = interop.go_program_or_skip(BENCH, test.build / 'go-control-plane-test',
                                         f'{MODULE}/pkg/test/main')
    mode, extras, n_snapshots, n_batches = VARIANTS[test.variant]
    for extra in extras:
        play(test, program, mode, extra, n_snapshots, n_batches)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(VARIANTS)))
