# SPDX-License-Identifier: Apache-2.0
"""A real Envoy that an udpad configures, and the resources it is given."""
import json
import time
import urllib.request

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from google.protobuf import json_format

from interop import Process, wait_for
from stage import listens

API_TYPES = {'delta': 'DELTA_GRPC', 'sotw': 'GRPC'}
ADS = {'ads': {}, 'resource_api_version': 'V3'}
TYPE_CLUSTER = 'envoy.config.cluster.v3.Cluster'
HTTP2 = {'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
    '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
    'explicit_http_config': {'http2_protocol_options': {}}}}


def endpoints(port):
    socket_address = {'address': '127.0.0.1', 'port_value': port}
    return [{'lb_endpoints': [{'endpoint': {'address': {'socket_address': socket_address}}}]}]


def static_cluster(name, timeout='1s'):
    return json_format.ParseDict({
        'name': name, 'type': 'STATIC', 'connect_timeout': timeout,
        'load_assignment': {'cluster_name': name, 'endpoints': endpoints(9)},
    }, cluster_pb2.Cluster())


def eds_cluster(name, timeout='1s', source=ADS, service=''):
    """Its endpoints are those of the service, or of its own name."""
    return json_format.ParseDict({
        'name': name, 'type': 'EDS', 'connect_timeout': timeout,
        'eds_cluster_config': {'eds_config': source, 'service_name': service},
    }, cluster_pb2.Cluster())


def assignment(name, port=9):
    return json_format.ParseDict({'cluster_name': name, 'endpoints': endpoints(port)},
                                 endpoint_pb2.ClusterLoadAssignment())


def api(api_type):
    return {'api_type': api_type, 'transport_api_version': 'V3',
            'set_node_on_first_message_only': True,
            'grpc_services': [{'envoy_grpc': {'cluster_name': 'udpad'}}]}


def own_stream(api_type):
    """A ConfigSource of one type, in place of ADS."""
    return {'api_config_source': api(api_type), 'resource_api_version': 'V3'}


def bootstrap(name, api_type, port, source=ADS):
    """JSON is YAML too."""
    return {
        'node': {'id': name, 'cluster': 'interop'},
        'admin': {'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}}},
        'dynamic_resources': {
            **({'ads_config': api(api_type)} if source == ADS else {}),
            'cds_config': source,
        },
        'static_resources': {'clusters': [{
            'name': 'udpad', 'type': 'STATIC', 'connect_timeout': '1s',
            'load_assignment': {'cluster_name': 'udpad', 'endpoints': endpoints(port)},
            'typed_extension_protocol_options': HTTP2}]},
    }


def names_in(value):
    """What is called a name in JSON, at any depth."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from names_in(inner)
    if isinstance(value, dict):
        yield from (value[key] for key in ('name', 'cluster_name') if key in value)


class Envoy(Process):
    def __init__(self, test, binary, port, name='envoy', config=None):
        """config: a bootstrap() with something more than clusters on ADS, or YAML."""
        self.name = name
        path = test.work / f'{name}.yaml'
        config = config or bootstrap(name, API_TYPES[test.variant or 'delta'], port)
        path.write_text(config if isinstance(config, str) else json.dumps(config), encoding='utf-8')
        self.admin_file = test.work / f'{name}.admin'
        super().__init__([binary, '-c', path, '--use-dynamic-base-id', '--concurrency', '1',
                          '--admin-address-path', self.admin_file, '-l', 'warning'],
                         test.work / f'{name}.log')
        test.processes.append(self)
        wait_for(f'the admin interface of {name}', self.admin_address)

    def admin_address(self):
        return self.admin_file.exists() and self.admin_file.read_text(encoding='utf-8')

    def admin(self, path):
        with urllib.request.urlopen(f'http://{self.admin_address()}{path}', timeout=5) as answer:
            return answer.read().decode()

    def stat(self, name):
        """A counter or gauge; None while Envoy does not have it."""
        for line in self.admin(f'/stats?usedonly&filter=^{name}$').splitlines():
            return int(line.split(': ')[1])
        return None

    def stats(self, pattern):
        """Counters and gauges by name, those that are 0 as well."""
        lines = self.admin(f'/stats?filter={pattern}').splitlines()
        return {name: int(value) for name, value in (line.rsplit(': ', 1) for line in lines)}

    def listener_ports(self):
        """Of those that accept connections: Envoy reports a listener before its workers listen."""
        found = json.loads(self.admin('/listeners?format=json'))
        ports = {status['name']: status['local_address']['socket_address']['port_value']
                 for status in found.get('listener_statuses', [])}
        return {name: port for name, port in ports.items() if listens(port)}

    def clusters(self):
        """Names of the clusters it uses that the node gave it."""
        found = json.loads(self.admin('/clusters?format=json'))
        return {status['name'] for status in found.get('cluster_statuses', [])} - {'udpad'}

    def active_clusters(self):
        """As configured, by name: those that are used, not those that still warm."""
        dump = json.loads(self.admin('/config_dump?resource=dynamic_active_clusters'))
        return {entry['cluster']['name']: entry['cluster'] for entry in dump.get('configs', [])}

    def dumped_names(self):
        """By kind of dump, the names of what it has anywhere."""
        dump = json.loads(self.admin('/config_dump?include_eds'))
        return {part['@type'].rsplit('.', 1)[1]: set(names_in(part)) for part in dump['configs']}

    def wait_for_clusters(self, names):
        return wait_for(f'{len(names)} clusters in {self.name}',
                        lambda: self.clusters() == set(names))

    def wait_for_timeout(self, cluster, timeout):
        """How many seconds it takes until the cluster is used as it was changed last."""
        begin = time.monotonic()
        wait_for(f'cluster {cluster} with connect_timeout {timeout} in {self.name}',
                 lambda: self.active_clusters().get(cluster, {}).get('connect_timeout') == timeout)
        return time.monotonic() - begin

    def is_connected(self):
        return self.stat('control_plane.connected_state') == 1
