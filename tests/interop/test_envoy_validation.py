#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What 'udpactl validate' finds wrong is what Envoy itself finds wrong, at the same field.

Envoy is asked by '--mode validate' with the resource in its bootstrap. It stops at the first mistake,
so that must be the first of ours, too. What is good passes: all resources of the other tests.
"""
import json
import os
import re
import subprocess
import sys

import interop
import envoy_peer
import envoy_resources as resources
from google.protobuf import json_format

URL = 'type.googleapis.com/'
CLUSTER = URL + 'envoy.config.cluster.v3.Cluster'
LISTENER = URL + 'envoy.config.listener.v3.Listener'
SECRET = URL + 'envoy.extensions.transport_sockets.tls.v3.Secret'
ENDPOINTS = URL + 'envoy.config.endpoint.v3.ClusterLoadAssignment'
ROUTE = URL + 'envoy.config.route.v3.RouteConfiguration'
MANAGER = resources.EXTENSIONS + \
    'filters.network.http_connection_manager.v3.HttpConnectionManager'
MANAGER_PATH = 'filter_chains[0].filters[0].typed_config.'
ADDRESS = {'socket_address': {'address': '127.0.0.1', 'port_value': 0}}

# What leads from the bootstrap to the resource, in Envoy's words.
PLACES = {CLUSTER: 'clusters', LISTENER: 'listeners', SECRET: 'secrets'}


def cluster(**fields):
    return {'@type': CLUSTER, 'name': 'c', 'connect_timeout': '1s', **fields}


def health_check(**fields):
    return cluster(health_checks=[{
        'timeout': '1s', 'interval': '1s', 'unhealthy_threshold': 1, 'healthy_threshold': 1,
        'tcp_health_check': {}, **fields}])


def assignment(endpoint=None, **fields):
    endpoints = {'lb_endpoints': [endpoint or {'endpoint': {'address': ADDRESS}}], **fields}
    return {'@type': ENDPOINTS, 'cluster_name': 'c', 'endpoints': [endpoints]}


def listener(**fields):
    return {'@type': LISTENER, 'name': 'l', 'address': ADDRESS, 'filter_chains': [{}], **fields}


def manager(**fields):
    return listener(filter_chains=[{'filters': [{'name': 'http', 'typed_config': {
        '@type': MANAGER, 'stat_prefix': 's', 'http_filters': [resources.ROUTER],
        'route_config': {'name': 'r'}, **fields}}]}])


def route(*routes, **fields):
    host = {'name': 'v', 'domains': ['*'], 'routes': list(routes), **fields}
    return {'@type': ROUTE, 'name': 'r', 'virtual_hosts': [host]}


def to(action=None, **fields):
    return {'match': {'prefix': '/'}, 'route': {'cluster': 'c', **(action or {})}, **fields}


def secret(**fields):
    return {'@type': SECRET, 'name': 's', **fields}


FIRST_ROUTE = 'virtual_hosts[0].routes[0].'
FIRST_ENDPOINT = 'endpoints[0].lb_endpoints[0].'

# Each has one mistake, or several of which this is the first.
MISTAKES = [
    (cluster(name=''), 'name'),
    (cluster(connect_timeout='0s'), 'connect_timeout'),
    (cluster(connect_timeout='0s', name='', lb_policy=99), 'name'),
    (cluster(lb_policy=99), 'lb_policy'),
    (cluster(type=99), 'type'),
    (cluster(dns_refresh_rate='0.0001s'), 'dns_refresh_rate'),
    (cluster(cleanup_interval='0s'), 'cleanup_interval'),
    (cluster(cluster_type={'name': ''}), 'cluster_type.name'),
    (cluster(circuit_breakers={'thresholds': [{}, {'priority': 9}]}),
     'circuit_breakers.thresholds[1].priority'),
    (cluster(ring_hash_lb_config={'minimum_ring_size': 9000000}),
     'ring_hash_lb_config.minimum_ring_size'),
    (cluster(outlier_detection={'max_ejection_percent': 101}),
     'outlier_detection.max_ejection_percent'),
    (cluster(upstream_connection_options={'tcp_keepalive': {}}, transport_socket={'name': ''}),
     'transport_socket.name'),
    (cluster(filters=[{'name': 'f'}, {'name': ''}]), 'filters[1].name'),
    (cluster(preconnect_policy={'per_upstream_preconnect_ratio': 4}),
     'preconnect_policy.per_upstream_preconnect_ratio'),
    (health_check(timeout='0s'), 'health_checks[0].timeout'),
    (cluster(health_checks=[{'interval': '1s'}]), 'health_checks[0].timeout'),
    (health_check(unhealthy_threshold=None), 'health_checks[0].unhealthy_threshold'),
    (health_check(http_health_check={'path': ''}, tcp_health_check=None),
     'health_checks[0].http_health_check.path'),
    (cluster(typed_extension_protocol_options={
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
            '@type': resources.EXTENSIONS + 'upstreams.http.v3.HttpProtocolOptions'}}),
     'typed_extension_protocol_options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]'
     '.upstream_protocol_options'),
    (assignment({'endpoint': {'address': {}}}), FIRST_ENDPOINT + 'endpoint.address.address'),
    (assignment({'endpoint': {'address': {'socket_address': {'address': '', 'port_value': 1}}}}),
     FIRST_ENDPOINT + 'endpoint.address.socket_address.address'),
    (assignment({'endpoint': {'address': {'socket_address': {
        'address': 'a', 'port_value': 70000}}}}),
     FIRST_ENDPOINT + 'endpoint.address.socket_address.port_value'),
    (assignment({'endpoint': {'address': {'socket_address': {'address': 'a'}}}}),
     FIRST_ENDPOINT + 'endpoint.address.socket_address.port_specifier'),
    (assignment({'endpoint': {'address': ADDRESS}, 'load_balancing_weight': 0}),
     FIRST_ENDPOINT + 'load_balancing_weight'),
    (assignment(priority=129), 'endpoints[0].priority'),
    ({**assignment(), 'cluster_name': ''}, 'cluster_name'),
    ({**assignment(), 'policy': {'drop_overloads': [{'category': ''}]}},
     'policy.drop_overloads[0].category'),
    ({**assignment(), 'policy': {'overprovisioning_factor': 0}},
     'policy.overprovisioning_factor'),
    (listener(filter_chains=[{'filters': [{'name': ''}]}]), 'filter_chains[0].filters[0].name'),
    (listener(listener_filters=[{'name': ''}]), 'listener_filters[0].name'),
    (listener(connection_balance_config={}), 'connection_balance_config.balance_type'),
    (listener(access_log=[{'name': 'a', 'filter': {}}]),
     'access_log[0].filter.filter_specifier'),
    (manager(stat_prefix=''), MANAGER_PATH + 'stat_prefix'),
    (manager(codec_type=9), MANAGER_PATH + 'codec_type'),
    (manager(http_filters=[{'name': ''}]), MANAGER_PATH + 'http_filters[0].name'),
    (manager(common_http_protocol_options={'max_headers_count': 0}),
     MANAGER_PATH + 'common_http_protocol_options.max_headers_count'),
    (manager(max_request_headers_kb=9000), MANAGER_PATH + 'max_request_headers_kb'),
    (manager(server_name='a\nb'), MANAGER_PATH + 'server_name'),
    (manager(local_reply_config={'mappers': [{}]}),
     MANAGER_PATH + 'local_reply_config.mappers[0].filter'),
    (manager(tracing={'custom_tags': [{'tag': ''}]}), MANAGER_PATH + 'tracing.custom_tags[0].tag'),
    (manager(route_config=None), MANAGER_PATH + 'route_specifier'),
    (route(name=''), 'virtual_hosts[0].name'),
    (route(domains=[]), 'virtual_hosts[0].domains'),
    (route(domains=['a', 'b\n']), 'virtual_hosts[0].domains[1]'),
    (route({'route': {'cluster': 'c'}}), FIRST_ROUTE + 'match'),
    (route({'match': {'prefix': '/'}}), FIRST_ROUTE + 'action'),
    (route({'match': {}, 'route': {'cluster': 'c'}}), FIRST_ROUTE + 'match.path_specifier'),
    (route({'match': {'path_separated_prefix': '/a/'}, 'route': {'cluster': 'c'}}),
     FIRST_ROUTE + 'match.path_separated_prefix'),
    (route(to(), to({'cluster': ''})), 'virtual_hosts[0].routes[1].route.cluster'),
    (route(to({'cluster': None, 'weighted_clusters': {'clusters': []}})),
     FIRST_ROUTE + 'route.weighted_clusters.clusters'),
    (route(to({'prefix_rewrite': 'a\r'})), FIRST_ROUTE + 'route.prefix_rewrite'),
    (route(to({'hash_policy': [{'header': {'header_name': ''}}]})),
     FIRST_ROUTE + 'route.hash_policy[0].header.header_name'),
    (route(to({'retry_policy': {'retry_back_off': {}}})),
     FIRST_ROUTE + 'route.retry_policy.retry_back_off.base_interval'),
    (route(to(response_headers_to_add=[{'header': {'key': '', 'value': 'v'}}])),
     FIRST_ROUTE + 'response_headers_to_add[0].header.key'),
    (route(to(request_headers_to_add=[{'header': {'key': 'a\n', 'value': 'v'}}])),
     FIRST_ROUTE + 'request_headers_to_add[0].header.key'),
    (route(to(request_headers_to_remove=['a', 'b\n'])),
     FIRST_ROUTE + 'request_headers_to_remove[1]'),
    (route({'match': {'prefix': '/'}, 'direct_response': {'status': 600}}),
     FIRST_ROUTE + 'direct_response.status'),
    (route(to(), rate_limits=[{'actions': []}]), 'virtual_hosts[0].rate_limits[0].actions'),
    (secret(tls_certificate={'certificate_chain': {}}),
     'tls_certificate.certificate_chain.specifier'),
    (secret(session_ticket_keys={'keys': []}), 'session_ticket_keys.keys'),
    (secret(validation_context={'verify_certificate_spki': ['short']}),
     'validation_context.verify_certificate_spki[0]'),
    (secret(generic_secret={'secret': {'environment_variable': ''}}),
     'generic_secret.secret.environment_variable'),
]


def without_nothing(value):
    """None means: not there."""
    if isinstance(value, dict):
        return {key: without_nothing(one) for key, one in value.items() if one is not None}
    return [without_nothing(one) for one in value] if isinstance(value, list) else value


# ---- Envoy ----

def bootstrap_of(resource):
    """A bootstrap with the resource in it; and the fields that lead to it there."""
    bare = {key: value for key, value in resource.items() if key != '@type'}
    kind = resource['@type']
    if kind == ENDPOINTS:
        kind, bare, inner = CLUSTER, {'name': 'c', 'load_assignment': bare}, 'load_assignment.'
    elif kind == ROUTE:
        bare = manager(route_config=bare)
        kind, inner = bare.pop('@type'), MANAGER_PATH + 'route_config.'
    else:
        inner = ''
    return {'static_resources': {PLACES[kind]: [bare]}}, f'static_resources.{PLACES[kind]}[0].{inner}'


def ask_envoy(binary, resource):
    """The field that Envoy blames, as a path from the resource, and its words; or None."""
    bootstrap, lead = bootstrap_of(resource)
    done = subprocess.run([binary, '--mode', 'validate', '-l', 'critical', '--config-yaml',
                           json.dumps(bootstrap)], capture_output=True, text=True, check=False)
    words = done.stdout + done.stderr
    at = words.find('Proto constraint validation failed (')
    if at < 0:
        return None, words
    words = words[at:]
    fields = re.findall(r'ValidationError\.(\w+(?:\[[^\]]*\])?)|field: "(\w+)"', words)
    path = '.'.join(a or b for a, b in fields)
    # What is packed is validated when it is unpacked, without what leads to it.
    if not path.startswith('StaticResources'):
        lead = lead.partition(MANAGER_PATH)[2]
    return plain(path)[len(plain(lead)):], words


def plain(path):
    """Without what the two write differently: snake_case and CamelCase, quotes of keys."""
    return path.replace('_', '').replace('"', '').lower()


# ---- udpactl ----

def ask_udpactl(test, found_in):
    """Of each of these resources the first field that is blamed, or None. One call for all, since
    reading the descriptors takes the longest."""
    documents = [{'name': f'n{number}', 'resource': resource}
                 for number, resource in enumerate(found_in)]
    done = subprocess.run(
        [test.build / 'udpactl', '--descriptors', os.environ['UDPA_ENVOY_DESCRIPTORS'], 'validate',
         '-'], input=json.dumps(documents), capture_output=True, text=True, check=False)
    blamed = [None] * len(documents)
    for number, path in re.findall(r"^stdin\.yaml:\d+: \w+ 'local/n(\d+)': (\S+): ", done.stderr,
                                   re.MULTILINE):
        blamed[int(number)] = blamed[int(number)] or path
    if done.returncode != (2 if any(blamed) else 0):
        raise interop.Failure(f'udpactl validate: {done.returncode}: {done.stdout}{done.stderr}')
    return blamed


def check_mistakes(test, binary):
    wrong = []
    found_in = [without_nothing(resource) for resource, _ in MISTAKES]
    ours = ask_udpactl(test, found_in)
    for resource, (_, path), our in zip(found_in, MISTAKES, ours):
        theirs, words = ask_envoy(binary, resource)
        agree = our == path and theirs is not None and \
            (plain(path) == theirs or plain(path).endswith('.' + theirs))
        kind = resource['@type'].rsplit('.', 1)[1]
        print(f'{"ok" if agree else "not ok"}: {kind}: {path}', flush=True)
        if not agree:
            wrong.append(f'{kind} {path}: udpactl blames {our}, Envoy {theirs}: {words}')
    if wrong:
        raise interop.Failure('\n'.join(wrong))


def good_messages(test):
    """What the other tests give to Envoy."""
    source = envoy_peer.ADS
    for place in ('one', 'two'):
        subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', test.work / 'ca', place],
                       check=True, capture_output=True)
    yield envoy_peer.static_cluster('a')
    yield envoy_peer.eds_cluster('b', source=source, service='x')
    yield envoy_peer.eds_cluster('b', source=envoy_peer.own_stream('DELTA_GRPC'))
    yield envoy_peer.assignment('x', 1)
    yield resources.listener('plain', {
        **resources.by_rds('main', source), 'server_name': 's',
        'http_filters': [resources.filter_by_ecds('stamp', source), resources.ON_DEMAND,
                         resources.ROUTER]})
    yield resources.listener('tls', resources.by_rds('main', source),
                             {'name': 'certificate', 'sds_config': source})
    yield resources.listener('scoped', resources.by_scope('scopes', 'x-scope', source))
    yield resources.route('main', [
        resources.direct('/feature', 'feature', resources.if_runtime('a.b'))],
        response_headers_to_add=resources.headers(x_route='one'))
    yield resources.route_of_vhds('by-host', source)
    yield resources.scope('near', 'near', 'blue')
    yield resources.virtual_host('by-host/a.test', 'text')
    yield resources.secret('certificate', test.work / 'ca', 'one')
    yield resources.runtime('runtime', {'a': 100})
    yield resources.header_filter('stamp', x_filter='one')


def body(test):
    binary = interop.envoy_or_skip()
    if not os.path.exists(os.environ.get('UDPA_ENVOY_DESCRIPTORS', '')):
        interop.skip('UDPA_ENVOY_DESCRIPTORS names no file with the descriptors of Envoy')
    good = [without_nothing(resource) for resource in (
        cluster(), health_check(), listener(), manager(), assignment(), route(to()),
        secret(tls_certificate={'certificate_chain': {'inline_string': 'x'}}))]
    for resource in good:
        interop.check(f'Envoy finds nothing in a good {resource["@type"]}',
                      ask_envoy(binary, resource)[0] is None)
    good += [{'@type': URL + message.DESCRIPTOR.full_name,
              **json_format.MessageToDict(message, preserving_proto_field_name=True)}
             for message in good_messages(test)]
    interop.check(f'udpactl finds nothing in {len(good)} resources that are good',
                  not any(ask_udpactl(test, good)))
    check_mistakes(test, binary)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
