# SPDX-License-Identifier: Apache-2.0
"""The processes of the demo, and the files they run on."""
import json
import os
import pathlib
import ssl
import subprocess
import urllib.request

import stage
from stage import SOURCE, Failure, fill_in, indent, replace_file, wait_for

HERE = pathlib.Path(__file__).resolve().parent
TYPES = ('cluster', 'endpoint', 'listener', 'route', 'secret')


class Federation(stage.World):
    """Everything that runs, and the files it runs on."""

    def __init__(self, work, build, envoy):
        super().__init__(HERE, build, work, envoy)
        self.certificates = work / 'certificates'
        self.resources = work / 'resources'
        for number in ('one', 'two'):
            self.add_backend(f'backend {number}')
        ports = stage.free_ports(2)
        self.values.update(CERTS=self.certificates, CORE_PORT=ports[0], EDGE_PORT=ports[1])

    # ---- files ----

    def make_certificates(self):
        make = SOURCE / 'certs' / 'make-development-ca'
        for name in ('core', 'edge', 'envoy', 'operator', 'ingress'):
            subprocess.run([make, self.certificates, name], check=True, stdout=subprocess.DEVNULL)
        key = self.work / 'store.key'
        key.touch(mode=0o600)
        key.write_text(os.urandom(32).hex(), encoding='ascii')

    def write_resources(self, backends):
        self.resources.mkdir()
        for path in (HERE / 'resources').iterdir():
            replace_file(self.resources / path.name, path.read_text(encoding='utf-8'))
        pem = {name: indent((self.certificates / f'ingress.{suffix}').read_text(), 6)
               for name, suffix in (('CERTIFICATE', 'crt'), ('KEY', 'key'))}
        replace_file(self.resources / 'secret.yaml', fill_in(HERE / 'secret.yaml.in', pem))
        self.write_endpoints(backends)

    def write_endpoints(self, backends):
        lines = '\n'.join('      - endpoint: {address: {socket_address: '
                          f'{{address: 127.0.0.1, port_value: {backend.port}}}}}}}'
                          for backend in backends)
        replace_file(self.resources / 'endpoints.yaml',
                     fill_in(HERE / 'endpoints.yaml.in', {'ENDPOINTS': lines}))

    def break_route(self):
        text = (HERE / 'resources' / 'route.yaml').read_text(encoding='utf-8')
        replace_file(self.resources / 'route.yaml', text.replace('prefix:', 'perfix:'))

    def mend_route(self):
        text = (HERE / 'resources' / 'route.yaml').read_text(encoding='utf-8')
        replace_file(self.resources / 'route.yaml', text)

    # ---- looking ----

    def envoys(self):
        return [process for process in self.processes.values() if isinstance(process, stage.Envoy)]

    def answer(self, envoy):
        """What a backend answers through its listener; None while there is none."""
        port = envoy.listener_port()
        if not port:
            return None
        context = ssl.create_default_context(cafile=self.certificates / 'ca.crt')
        try:
            with urllib.request.urlopen(f'https://localhost:{port}/', context=context,
                                        timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def wait_for_answer(self, envoy):
        return wait_for(f'an answer through {envoy.name}', lambda: self.answer(envoy))

    def udpactl(self, node, *arguments):
        port = self.values[f'{node.upper()}_PORT']
        command = [self.build / 'udpactl', '--server', f'localhost:{port}',
                   '--ca', self.certificates / 'ca.crt', '--cert', self.certificates / 'operator.crt',
                   '--key', self.certificates / 'operator.key', *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise Failure(f'udpactl {" ".join(arguments)}: {done.stderr}')
        return json.loads(done.stdout) if done.stdout.strip() else []

    def versions(self, node):
        """Version of every resource that the node serves, by type and name."""
        return {(kind, resource['name']): resource['version'] for kind in TYPES
                for resource in self.udpactl(node, 'get', kind, '-o', 'json')}

    def wait_for_resources(self, node, count):
        """What they are, once there are so many."""
        def look():
            found = self.versions(node)
            return sorted(f'{kind} {name}' for kind, name in found) if len(found) == count else None
        return wait_for(f'{count} resources at {node}', look)

    def link_counters(self):
        """How many resources core has sent to edge since edge came back, and edge has received."""
        sessions = self.udpactl('core', 'get', 'udpa.status.v1.SessionStatus', '-o', 'json')
        sources = self.udpactl('edge', 'get', 'udpa.status.v1.SourceStatus', '-o', 'json')
        sent = sum(int(subscription.get('nResourcesSent', 0)) for session in sessions
                   if session['resource'].get('peerNodeId') == 'edge'
                   for subscription in session['resource'].get('subscriptions', []))
        received = sum(int(source['resource'].get('nResourcesReceived', 0)) for source in sources)
        return sent, received
