#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Envoy Gateway as the source of a node, over mutual TLS, asked for each client with its own Node; a real
Envoy below the node serves what a Gateway and its HTTPRoute say, follows a change of the route, and goes on
while Envoy Gateway is away.

Envoy Gateway cannot be told where to listen, so all of it happens in a network namespace."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import interop
import envoy_peer

HERE = pathlib.Path(__file__).resolve().parent / 'go-gateway'
PACKAGE = 'github.com/envoyproxy/gateway/cmd/envoy-gateway'
IN_NAMESPACE = 'UDPA_INTEROP_NAMESPACE'
XDS_PORT, LISTENER_PORT = 18000, 8888
SERVER_NAME = 'envoy-gateway' # in its certificate
PATIENCE_S = 60
TYPES = [f'envoy.config.{name}' for name in (
    'listener.v3.Listener', 'route.v3.RouteConfiguration', 'cluster.v3.Cluster',
    'endpoint.v3.ClusterLoadAssignment')]
SECRET = 'envoy.extensions.transport_sockets.tls.v3.Secret'

SETTINGS = '''
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {{controllerName: gateway.envoyproxy.io/gatewayclass-controller}}
provider:
  type: Custom
  custom:
    resource: {{type: File, file: {{paths: ["{work}/gateway"]}}}}
    infrastructure:
      type: Host
      host: {{configHome: "{work}/config", dataHome: "{work}/data", stateHome: "{work}/state",
             runtimeDir: "{work}/run"}}
extensionApis: {{enableBackend: true}}
'''

RESOURCES = '''
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: eg}}
spec: {{controllerName: gateway.envoyproxy.io/gatewayclass-controller}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: eg, namespace: default}}
spec:
  gatewayClassName: eg
  listeners:
  - {{name: http, protocol: HTTP, port: {listener}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: backend, namespace: default}}
spec:
  parentRefs: [{{name: eg}}]
  rules:
  - matches: [{{path: {{type: PathPrefix, value: {path}}}}}]
    backendRefs: [{{group: gateway.envoyproxy.io, kind: Backend, name: backend}}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {{name: backend, namespace: default}}
spec:
  endpoints:
  - ip: {{address: 127.0.0.1, port: {port}}}
'''


def program_or_skip(build):
    """Built before, where there is a network."""
    return interop.go_program_or_skip(HERE, build / 'envoy-gateway', PACKAGE)


def enter_namespace():
    """Goes on in a network of its own."""
    if os.environ.get(IN_NAMESPACE):
        return
    if not shutil.which('unshare') or subprocess.run(
            ['unshare', '-rn', 'ip', 'link', 'set', 'lo', 'up'], check=False).returncode != 0:
        interop.skip('there are no network namespaces')
    has_build = '--build' in sys.argv
    build = pathlib.Path(sys.argv[sys.argv.index('--build') + 1]).resolve() if has_build else \
        interop.SOURCE / 'build'
    os.environ[IN_NAMESPACE] = str(program_or_skip(build))
    interop.envoy_or_skip()
    os.execvp('unshare', ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh',
                          sys.executable, *sys.argv])


class Backend(BaseHTTPRequestHandler):
    def do_GET(self): # noqa: N802
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'the backend')

    def log_message(self, *_):
        pass


class Gateway:
    def __init__(self, test):
        self.test = test
        self.program = os.environ[IN_NAMESPACE]
        self.settings = test.work / 'settings.yaml'
        self.settings.write_text(SETTINGS.format(work=test.work), encoding='utf-8')
        (test.work / 'gateway').mkdir()
        subprocess.run([self.program, 'certgen', '--local', '--config-home', test.work / 'config'],
                       check=True, capture_output=True)
        self.certificates = test.work / 'config' / 'certs' / 'envoy'
        (self.certificates / 'tls.key').chmod(0o600) # certgen leaves it to everybody

    def say(self, path, port):
        made = self.test.work / 'resources.yaml'
        made.write_text(RESOURCES.format(listener=LISTENER_PORT, path=path, port=port),
                        encoding='utf-8')
        made.rename(self.test.work / 'gateway' / 'resources.yaml')

    def start(self):
        self.process = interop.Process([self.program, 'server', '--config-path', self.settings],
                                       self.test.work / 'envoy-gateway.log')
        self.test.processes.append(self.process)

    def end(self):
        self.process.process.send_signal(signal.SIGKILL)
        self.process.process.wait()


def node_config(test, gateway):
    path = test.work / 'node.yaml'
    descriptors = [{'resource_name': 'eg', 'namespace': 'gateways'}]
    tls = {'ca_file': 'ca.crt', 'certificate_file': 'tls.crt', 'private_key_file': 'tls.key'}
    path.write_text(json.dumps({
        'audiences': [{'name': 'gateways', 'default_namespace': 'gateways/{node_id}'}],
        'static_resources': {'config_sources': [{'name': 'eg', 'xds': {
            'address': f'127.0.0.1:{XDS_PORT}', 'authority': 'eg', 'audience': 'PER_CLIENT',
            'tls': {**{key: str(gateway.certificates / name) for key, name in tls.items()},
                    'server_name': SERVER_NAME}}}]},
        'providers': [{'types': TYPES, 'config_descriptors': descriptors},
                      {'types': [SECRET], 'config_descriptors': [
                          {**descriptors[0], 'mode': 'ON_DEMAND'}]}],
        'timing': {'backoff_max': '1s'},
    }), encoding='utf-8')
    return path


def envoy_config(port):
    """Envoy Gateway knows its proxies by their cluster: namespace and name of the Gateway."""
    config = envoy_peer.bootstrap('proxy-1', 'DELTA_GRPC', port)
    config['node']['cluster'] = 'default/eg'
    config['dynamic_resources']['lds_config'] = envoy_peer.ADS
    return config


def get(path):
    """Status and body; None: nobody listens."""
    try:
        with urllib.request.urlopen(f'http://127.0.0.1:{LISTENER_PORT}{path}', timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b''
    except OSError:
        return None


def body(test):
    binary = interop.envoy_or_skip()
    backend = HTTPServer(('127.0.0.1', 0), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    served = (200, b'the backend')
    gateway = Gateway(test)
    gateway.say('/', backend.server_port)
    gateway.start()
    [node_port] = interop.free_ports(1)
    node = interop.Node(test, 'node', node_port, node_config(test, gateway))
    envoy = envoy_peer.Envoy(test, binary, node_port, 'envoy', envoy_config(node_port))
    interop.wait_for('an answer of the backend', lambda: get('/') == served, PATIENCE_S)
    interop.check('a request goes through an Envoy that a node serves from Envoy Gateway', True)

    gateway.say('/only', backend.server_port)
    interop.wait_for('the change of the route', lambda: get('/')[0] == 404, PATIENCE_S)
    interop.check('another route is followed', get('/only') == served)

    gateway.end()
    node.stop()
    node = interop.Node(test, 'node', node_port, node_config(test, gateway))
    interop.wait_for('the Envoy on a stream of the node that was restarted', envoy.is_connected)
    late = envoy_peer.Envoy(test, binary, node_port, 'again', envoy_config(node_port))
    interop.wait_for('its listener', lambda: late.listener_ports())
    interop.check('without Envoy Gateway the node serves what it had', get('/only') == served)

    gateway.say('/again', backend.server_port)
    gateway.start()
    interop.wait_for('what has changed meanwhile', lambda: get('/again') == served, PATIENCE_S)
    interop.check('Envoy has rejected nothing', not any(
        envoy.stats('update_rejected$').values()))


if __name__ == '__main__':
    enter_namespace()
    sys.exit(interop.run(__doc__, body))
