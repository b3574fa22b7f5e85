#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An Envoy that starts while listeners name what does not exist: a RouteConfiguration, scopes, a Secret,
an extension. The healthy listener beside them serves within 16 s, and what appears later is used."""
import sys
import time
import urllib.error
import urllib.request

import interop
import envoy_peer
import envoy_resources as resources
from udpactl import Ctl, write

PATIENCE_S = 16
ALL = ('route', 'scope', 'secret', 'extension')


def inline(text):
    return {'route_config': {'name': 'inline', 'virtual_hosts': [
        {'name': 'all', 'domains': ['*'], 'routes': [resources.direct('/', text)]}]}}


def listeners(kinds, source):
    yield resources.listener('healthy', inline('healthy'))
    if 'route' in kinds:
        yield resources.listener('without-route', resources.by_rds('absent', source))
    if 'scope' in kinds:
        yield resources.listener('without-scope', resources.by_scope('scopes', 'x-scope', source))
    if 'secret' in kinds:
        yield resources.listener('without-secret', inline('x'),
                                 {'name': 'absent', 'sds_config': source})
    if 'extension' in kinds:
        yield resources.listener('without-extension', {
            **inline('x'),
            'http_filters': [resources.filter_by_ecds('absent', source), resources.ROUTER]})


def get(envoy, name):
    port = envoy.listener_ports().get(name)
    if not port:
        return None
    try:
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/', timeout=2) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, OSError):
        return None


def body(test):
    binary = interop.envoy_or_skip()
    protocol, kinds = test.variant.split('_', maxsplit=1)
    kinds = ALL if kinds == 'all' else (kinds,)
    node = interop.Node(test, 'node')
    ctl = Ctl(test, node)
    for i, listener in enumerate(listeners(kinds, envoy_peer.ADS)):
        ctl('apply', '-f', write(test, f'listener-{i}.json', listener))
    config = envoy_peer.bootstrap('envoy', envoy_peer.API_TYPES[protocol], node.port)
    config['dynamic_resources']['lds_config'] = envoy_peer.ADS
    begin = time.monotonic()
    envoy = envoy_peer.Envoy(test, binary, node.port, config=config)
    interop.wait_for('an answer of the healthy listener',
                     lambda: get(envoy, 'healthy') == 'healthy', 40)
    took = time.monotonic() - begin
    interop.check(f'the healthy listener serves after {took:.1f} s', took < PATIENCE_S)
    if 'route' in kinds:
        ctl('apply', '-f', write(test, 'route.json', resources.route(
            'absent', [resources.direct('/', 'late')])))
        interop.wait_for('the route that was absent', lambda: get(envoy, 'without-route') == 'late')
        interop.check('a route that appears is used', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, (
        'delta_all', 'sotw_all', *(f'delta_{kind}' for kind in ALL))))
