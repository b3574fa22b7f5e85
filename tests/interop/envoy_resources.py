# SPDX-License-Identifier: Apache-2.0
"""Resources of every xDS type that an Envoy takes, each of which can be seen in an HTTP answer."""
from envoy.config.core.v3 import extension_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2, scoped_route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from envoy.service.runtime.v3 import rtds_pb2
from google.protobuf import json_format
# For what is packed into the others.
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2  # noqa: F401
from envoy.extensions.filters.http.on_demand.v3 import on_demand_pb2  # noqa: F401
from envoy.extensions.filters.http.router.v3 import router_pb2  # noqa: F401
from envoy.extensions.filters.network.http_connection_manager.v3 import (  # noqa: F401
    http_connection_manager_pb2)
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2  # noqa: F401

TYPE_LISTENER = 'envoy.config.listener.v3.Listener'
TYPE_SCOPE = 'envoy.config.route.v3.ScopedRouteConfiguration'
TYPE_VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost'
EXTENSIONS = 'type.googleapis.com/envoy.extensions.'
HEADER_MUTATION = EXTENSIONS + 'filters.http.header_mutation.v3.HeaderMutation'
ROUTER = {'name': 'router',
          'typed_config': {'@type': EXTENSIONS + 'filters.http.router.v3.Router'}}
ON_DEMAND = {'name': 'on_demand',
             'typed_config': {'@type': EXTENSIONS + 'filters.http.on_demand.v3.OnDemand'}}


def listener(name, manager, secret=None):
    """manager: what is special of its HttpConnectionManager; secret: an SdsSecretConfig."""
    chain = {'filters': [{'name': 'http', 'typed_config': {
        '@type': EXTENSIONS +
        'filters.network.http_connection_manager.v3.HttpConnectionManager',
        'stat_prefix': name, 'http_filters': [ROUTER], **manager}}]}
    if secret:
        chain['transport_socket'] = {'name': 'tls', 'typed_config': {
            '@type': EXTENSIONS + 'transport_sockets.tls.v3.DownstreamTlsContext',
            'common_tls_context': {'tls_certificate_sds_secret_configs': [secret]}}}
    return json_format.ParseDict({
        'name': name,
        'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}},
        'filter_chains': [chain],
    }, listener_pb2.Listener())


def by_rds(route, source):
    return {'rds': {'route_config_name': route, 'config_source': source}}


def by_scope(name, header, source):
    """The value of the header is the key of the scope."""
    return {'scoped_routes': {
        'name': name,
        'scope_key_builder': {'fragments': [
            {'header_value_extractor': {'name': header, 'index': 0}}]},
        'rds_config_source': source,
        'scoped_rds': {'scoped_rds_config_source': source}}}


def scope(name, key, route):
    return json_format.ParseDict({
        'name': name, 'route_configuration_name': route,
        'key': {'fragments': [{'string_key': key}]},
    }, scoped_route_pb2.ScopedRouteConfiguration())


def direct(prefix, text, match=None):
    return {'match': {'prefix': prefix, **(match or {})},
            'direct_response': {'status': 200, 'body': {'inline_string': text}}}


def if_runtime(key):
    """A match for as many per cent of the requests as the runtime says; without it, for none."""
    return {'runtime_fraction': {'runtime_key': key, 'default_value': {'numerator': 0}}}


def headers(**values):
    return [{'header': {'key': key.replace('_', '-'), 'value': value},
             'append_action': 'OVERWRITE_IF_EXISTS_OR_ADD'} for key, value in values.items()]


def route(name, routes, **more):
    return json_format.ParseDict({
        'name': name, **more,
        'virtual_hosts': [{'name': 'all', 'domains': ['*'], 'routes': routes}],
    }, route_pb2.RouteConfiguration())


def route_of_vhds(name, source):
    return json_format.ParseDict({'name': name, 'vhds': {'config_source': source}},
                                 route_pb2.RouteConfiguration())


def virtual_host(name, text, domain=None):
    """Named `<route>/<host>` as its resource is: Envoy forgets no others when they are removed."""
    return json_format.ParseDict(
        {'name': name, 'domains': [domain or name.split('/')[1]], 'routes': [direct('/', text)]},
        route_components_pb2.VirtualHost())


def secret(name, folder, certificate):
    """The certificate of this name in a folder of make-development-ca."""
    return json_format.ParseDict({'name': name, 'tls_certificate': {
        'certificate_chain': {'inline_string': (folder / f'{certificate}.crt').read_text()},
        'private_key': {'inline_string': (folder / f'{certificate}.key').read_text()},
    }}, secret_pb2.Secret())


def runtime(name, values):
    return json_format.ParseDict({'name': name, 'layer': values}, rtds_pb2.Runtime())


def filter_by_ecds(name, source):
    return {'name': name, 'config_discovery': {'config_source': source,
                                               'type_urls': [HEADER_MUTATION]}}


def header_filter(name, **values):
    """An extension: the HTTP filter that puts headers on each answer."""
    return json_format.ParseDict({'name': name, 'typed_config': {
        '@type': HEADER_MUTATION,
        'mutations': {'response_mutations': [{'append': one} for one in headers(**values)]},
    }}, extension_pb2.TypedExtensionConfig())
