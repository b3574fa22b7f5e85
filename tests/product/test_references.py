#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl validate --references: names that lead nowhere, and patterns that do not compile."""
import argparse
import sys

from product import SOURCE, check, main, need_descriptors
from test_udpactl import Ctl

CLUSTER = '"@type": x/envoy.config.cluster.v3.Cluster\nconnect_timeout: 1s\n'
ROUTE = '"@type": x/envoy.config.route.v3.RouteConfiguration\n'
HCM = 'x/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'
ADS = '{ads: {}, resource_api_version: V3}'
FILE = '{path_config_source: {path: /x}, resource_api_version: V3}'


def cluster(name, more='type: STATIC\n'):
    return f'---\n{CLUSTER}name: {name}\n{more}'


def eds(name, source=ADS, service=''):
    return cluster(name, f'type: EDS\neds_cluster_config: {{eds_config: {source}'
                   f'{f", service_name: {service}" if service else ""}}}\n')


def endpoints(name):
    return f'---\n"@type": x/envoy.config.endpoint.v3.ClusterLoadAssignment\ncluster_name: {name}\n'


def route(name, *routes):
    return (f'---\n{ROUTE}name: {name}\nvirtual_hosts:\n- name: all\n  domains: ["*"]\n  routes:\n' +
            ''.join(f'  - {each}\n' for each in routes))


def to(action, match='prefix: /'):
    return f'{{match: {{{match}}}, route: {{{action}}}}}'


def weighted(*names):
    weights = ', '.join(f'{{name: {name}, weight: 1}}' for name in names)
    return to(f'weighted_clusters: {{clusters: [{weights}]}}')


def listener(name, source, extra=''):
    return ('---\n"@type": x/envoy.config.listener.v3.Listener\n'
            f'name: {name}\naddress: {{socket_address: {{address: 127.0.0.1, port_value: 1}}}}\n'
            'filter_chains:\n- filters:\n  - name: hcm\n    typed_config:\n'
            f'      "@type": {HCM}\n      stat_prefix: x\n      {source}\n{extra}')


def rds(name, source=ADS):
    return f'rds: {{config_source: {source}, route_config_name: {name}}}'


def tls(secret, source=f', sds_config: {ADS}'):
    return ('  transport_socket:\n    name: tls\n    typed_config:\n'
            '      "@type": x/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext\n'
            '      common_tls_context: {tls_certificate_sds_secret_configs: '
            f'[{{name: {secret}{source}}}]}}\n')


def secret(name):
    return (f'---\n"@type": x/envoy.extensions.transport_sockets.tls.v3.Secret\nname: {name}\n'
            'generic_secret: {secret: {inline_string: x}}\n')


def test_good(look):
    good = (cluster('a') + eds('b') + endpoints('b') + eds('c', service='other') +
            endpoints('other') + eds('d', FILE) + secret('cert') +
            route('r', to('cluster: a'), weighted('a', 'b'),
                  to('cluster: c', 'safe_regex: {regex: "/v[0-9]+/.*"}')) +
            listener('l', rds('r'), tls('cert')) + listener('from-file', rds('none', FILE)) +
            listener('of-bootstrap', rds('r'), tls('static', '')) +
            f'---\n"@type": x/envoy.config.route.v3.ScopedRouteConfiguration\nname: s\n'
            'route_configuration_name: r\nkey: {fragments: [{string_key: x}]}\n')
    look('what is whole', good)
    look('a name in full', cluster('a') + route('r', to('cluster: local/a')))
    look('an alias', '---\nname: com.acme/new\naliases: [com.acme/old]\nresource:\n'
         '  "@type": x/envoy.config.cluster.v3.Cluster\n  name: new\n  connect_timeout: 1s\n'
         '---\nname: com.acme/r\nresource:\n  "@type": x/envoy.config.route.v3.RouteConfiguration\n'
         '  virtual_hosts: [{name: a, domains: ["*"], routes: [{match: {prefix: /}, '
         'route: {cluster: old}}]}]\n')
    look('an xdstp name', route('r', to('cluster: "xdstp://a/envoy.config.cluster.v3.Cluster/x"')))


PATH = 'virtual_hosts[0].routes[0].route'


def test_bad(look):
    where = f"route 'local/r': {PATH}"
    look('a weighted route', cluster('backend') + route('r', weighted('backend', 'bakend')),
         f"{where}.weighted_clusters.clusters[1].name: there is no cluster 'bakend'; did you mean "
         "'backend'?", 'bad.yaml:7: ')
    look('a route', route('r', to('cluster: x')), f"{where}.cluster: there is no cluster 'x'\n")
    look('a mirror', cluster('a') + route('r', to('cluster: a, request_mirror_policies: '
                                                  '[{cluster: m}]')),
         f"{where}.request_mirror_policies[0].cluster: there is no cluster 'm'")
    look('endpoints', eds('b') + endpoints('x'),
         "cluster 'local/b': name: there is no endpoint 'b'")
    look('endpoints of a service', eds('b', service='s') + endpoints('b'),
         "cluster 'local/b': eds_cluster_config.service_name: there is no endpoint 's'")
    look('a route configuration', listener('l', rds('none')),
         'filter_chains[0].filters[0].typed_config.rds.route_config_name: there is no route '
         "'none'")
    look('a route in a listener', listener(
        'l', 'route_config: {virtual_hosts: [{name: a, domains: ["*"], routes: '
        f'[{to("cluster: gone")}]}}]}}'), 'typed_config.route_config.virtual_hosts[0].routes[0]'
         ".route.cluster: there is no cluster 'gone'")
    look('a secret', route('r') + listener('l', rds('r'), tls('cert')),
         'transport_socket.typed_config.common_tls_context.tls_certificate_sds_secret_configs[0]'
         ".name: there is no secret 'cert'")
    look('the route of a scope',
         '---\n"@type": x/envoy.config.route.v3.ScopedRouteConfiguration\nname: s\n'
         'route_configuration_name: r\nkey: {fragments: [{string_key: x}]}\n',
         "route_configuration_name: there is no route 'r'")
    look('another namespace', '---\nname: com.acme/a\nresource:\n'
         '  "@type": x/envoy.config.cluster.v3.Cluster\n  name: a\n  connect_timeout: 1s\n' +
         route('r', to('cluster: a')),
         "there is no cluster 'a'; namespace 'com.acme' has one")
    look('a pattern', cluster('a') + route('r', to('cluster: a', 'safe_regex: {regex: "/(v"}')),
         "virtual_hosts[0].routes[0].match.safe_regex.regex: '/(v' is no regular expression of "
         'RE2: missing )')
    look('a pattern of another dialect',
         cluster('a') + route('r', to('cluster: a', 'safe_regex: {regex: "(?=x)"}')),
         'safe_regex.regex: ')

    look('an aggregate cluster', cluster('a') + cluster(
        'g', 'cluster_type: {name: x, typed_config: {"@type": '
        'x/envoy.extensions.clusters.aggregate.v3.ClusterConfig, clusters: [a, b]}}\n'),
         "cluster_type.typed_config.clusters[1]: there is no cluster 'b'")
    tcp = 'x/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy'
    look('a TCP proxy', listener('l', 'rds').split('filter_chains')[0] +
         'filter_chains:\n- filters:\n  - name: tcp\n    typed_config:\n'
         f'      "@type": {tcp}\n      stat_prefix: x\n'
         '      weighted_clusters: {clusters: [{name: t, weight: 1}]}\n',
         "typed_config.weighted_clusters.clusters[0].name: there is no cluster 't'")
    look('a gRPC service, and a server of configuration', cluster('a', 'type: EDS\n'
         'eds_cluster_config: {service_name: e, eds_config: {resource_api_version: V3, '
         'api_config_source: {api_type: GRPC, transport_api_version: V3, grpc_services: '
         '[{envoy_grpc: {cluster_name: control}}]}}}\n') + endpoints('e'),
         "grpc_services[0].envoy_grpc.cluster_name: there is no cluster 'control'")
    look('a server by REST', cluster('a', 'type: EDS\n'
         'eds_cluster_config: {service_name: e, eds_config: {resource_api_version: V3, '
         'api_config_source: {api_type: REST, transport_api_version: V3, refresh_delay: 1s, '
         'cluster_names: [control]}}}\n') + endpoints('e'),
         "cluster_names[0]: there is no cluster 'control'")


def test_options(test, ctl, look):
    both = route('r', weighted('a', 'b'))
    look('one of two is known', both, "there is no cluster 'b'", known=['cluster/a'])
    look('both are', both, known=['cluster/a', 'cluster/b'])
    look('all of a type', both, known=['cluster'])
    file = test.work / 'x.yaml'
    file.write_text(both)
    check('without the option nothing is said', '1 resource' in ctl('validate', file))
    ctl('validate', '--references', '--known', 'nothing/x', file, status=2, err='--known nothing/x')
    ctl('validate', '--references', '--known', 'cluster/', file, status=2, err='give TYPE')
    ctl('validate', '--known', 'cluster', file, status=2, err='goes with validate --references')
    ctl('get', '--references', status=2, err='--references goes with validate')


def test_node(test, descriptors):
    """What a node has, by a pipe."""
    _, address = test.start_node('node')
    ctl = Ctl(test, address, '--descriptors', descriptors)
    ctl('apply', '-f', '-', stdin=cluster('a') + route('r', weighted('a', 'b')))
    shown = ctl('get', '-o', 'yaml')
    ctl('validate', '--references', '-', stdin=shown, status=2, err="there is no cluster 'b'")
    ctl('apply', '-f', '-', stdin=cluster('b'))
    ctl('validate', '--references', '-', stdin=ctl('get', '-o', 'yaml'))


def test_all(test):
    need_descriptors(test)
    descriptors = test.build / 'envoy-v3.descriptors'
    ctl = Ctl(test, '127.0.0.1:1', '--descriptors', descriptors)

    def look(what, text, err=None, place='', known=()):
        file = test.work / 'bad.yaml'
        file.write_text(text)
        words = [word for each in known for word in ('--known', each)]
        if err:
            ctl('validate', '--references', *words, file, status=2, err=err)
            if place:
                ctl('validate', '--references', *words, file, status=2, err=place)
        else:
            ctl('validate', '--references', *words, file)
        print(f'ok: {what}', flush=True)

    test_good(look)
    test_bad(look)
    test_options(test, ctl, look)
    test_node(test, descriptors)
    demo = SOURCE / 'docs' / 'demo' / 'resources'
    ctl('validate', '--references', '--known', 'endpoint', demo, status=2,
        err="there is no secret 'server-certificate'")
    ctl('validate', '--references', '--known', 'endpoint', '--known', 'secret/server-certificate',
        demo)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), test_all))
