# SPDX-License-Identifier: Apache-2.0
"""go-control-plane, as a server that others are given as a source."""
import json
import socket

import interop


def program_or_skip(test):
    return interop.go_program_or_skip(interop.SOURCE / 'tests' / 'bench' / 'go',
                                      test.build / 'go-control-plane', './peer')


class GoControlPlane(interop.Process):
    def __init__(self, test, program, cache, port, n, is_rest=False):
        """port: of gRPC, or of REST."""
        grpc = 0 if is_rest else port
        rest = ['-rest', f'127.0.0.1:{port}'] if is_rest else []
        super().__init__([program, '-cache', cache, '-resources', str(n),
                          '-listen', f'127.0.0.1:{grpc}', *rest],
                         test.work / 'go-control-plane.log')
        test.processes.append(self)
        words = self.wait_for_log('listening on ').split()
        self.changes = words[words.index('changes') + 2]

    def change(self, kind, i, serial):
        host, port = self.changes.rsplit(':', 1)
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f'{kind} {i} {serial}\n'.encode())

    def end(self):
        self.process.kill()
        self.process.wait()


def has_endpoints(envoy, wanted):
    """Has the Envoy endpoints of these clusters, and of no others?"""
    dump = json.loads(envoy.admin('/config_dump?include_eds'))
    return {config['endpoint_config']['cluster_name']
            for part in dump['configs'] if part['@type'].endswith('EndpointsConfigDump')
            for config in part.get('dynamic_endpoint_configs', [])
            if config['endpoint_config'].get('endpoints')} == set(wanted)
