#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is deprecated, to Envoy and to a node: with each runtime both refuse the same resources, and
find the same features in those that they take.

Envoy is asked by '--mode validate' with the resource in its bootstrap. Of what is directly in a
bootstrap it asks no runtime, so that what is deprecated lies in an HttpConnectionManager here.
"""
import json
import os
import re
import subprocess
import sys
import urllib.parse

import interop
from test_envoy_runtime import ask
from test_envoy_validation import manager, without_nothing
import envoy_resources as resources

KEY = 'envoy.deprecated_features:'
ALL = 'envoy.features.enable_all_deprecated_features'
NONE = 'envoy.features.fail_on_any_deprecated_feature'
HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.'
FLUSH = KEY + HCM + 'flush_access_log_on_new_request'
SPAN = KEY + 'envoy.extensions.filters.http.router.v3.Router.start_child_span'
METADATA = KEY + 'envoy.config.route.v3.RateLimit.Action.dynamic_metadata'
API_TYPE = KEY + 'envoy.config.core.v3.ApiConfigSource.DEPRECATED_AND_UNAVAILABLE_DO_NOT_USE'
VERSION = KEY + 'envoy.config.core.v3.V2'
ROUTER = resources.EXTENSIONS + 'filters.http.router.v3.Router'


def host(*routes, **fields):
    return manager(route_config={'name': 'r', 'virtual_hosts': [
        {'name': 'v', 'domains': ['*'], 'routes': list(routes) or [answer()], **fields}]})


def answer(**fields):
    return {'match': {'prefix': '/'}, 'direct_response': {'status': 200}, **fields}


def rds(**fields):
    return manager(route_config=None, rds={'route_config_name': 'r', 'config_source': {
        'resource_api_version': 'V3', 'api_config_source': {
            'grpc_services': [{'envoy_grpc': {'cluster_name': 'c'}}], **fields}}})


def old_router():
    return {'@type': ROUTER, 'start_child_span': True}


def header(key):
    return {'header': {'key': key, 'value': 'v'}, 'append': True}


CASES = {
    'nothing': host(),
    'field': manager(flush_access_log_on_new_request=True),
    'field with its default': manager(flush_access_log_on_new_request=False),
    'packed': manager(http_filters=[{'name': 'router', 'typed_config': old_router()}]),
    'packed in a map': host(typed_per_filter_config={'envoy.filters.http.router': old_router()}),
    'repeated': host(request_headers_to_add=[header('a'), header('b')]),
    'in a oneof': host(answer(match={'prefix': '/', 'headers': [
        {'name': 'x', 'exact_match': 'y'}]})),
    'empty message': host({'match': {'prefix': '/'}, 'route': {'cluster': 'c', 'cors': {}}}),
    'disallowed': host(rate_limits=[{'actions': [{'dynamic_metadata': {
        'descriptor_key': 'a', 'metadata_key': {'key': 'k', 'path': [{'key': 'x'}]}}}]}]),
    'both': host(answer(request_headers_to_add=[header('c')]), rate_limits=[{'actions': [{
        'dynamic_metadata': {'descriptor_key': 'a', 'metadata_key': {
            'key': 'k', 'path': [{'key': 'x'}]}}}]}]),
    'value by default': rds(transport_api_version='V3'),
    'value': rds(api_type='GRPC', transport_api_version='V2'),
    'values': rds(transport_api_version='V2'),
}

RUNTIMES = [
    {},
    {NONE: True},
    {NONE: False},
    {ALL: True},
    {ALL: False},
    {NONE: True, ALL: True},
    {FLUSH: False, SPAN: False, METADATA: True, API_TYPE: True, VERSION: False},
    {FLUSH: True, SPAN: True, METADATA: True, VERSION: True, NONE: True},
    {FLUSH: False, METADATA: False, API_TYPE: False, ALL: True},
    {METADATA: 1, FLUSH: 0, API_TYPE: 1},
    {METADATA + 'x': True, KEY + 'dynamic_metadata': True,
     KEY + 'envoy.config.core.v3.ApiVersion.V2': False},
]


# ---- Envoy ----

def ask_envoy(binary, resource, runtime):
    """Is it refused for what is deprecated? And which features are, as far as Envoy has looked."""
    bare = {key: value for key, value in resource.items() if key != '@type'}
    bootstrap = {
        'node': {'id': 'envoy', 'cluster': 'mine'},
        'static_resources': {
            'listeners': [bare],
            'clusters': [{'name': 'c', 'type': 'STATIC', 'connect_timeout': '1s'}]},
        'layered_runtime': {'layers': [{'name': 'static', 'static_layer': runtime}]}}
    done = subprocess.run([binary, '--mode', 'validate', '-l', 'warning', '--config-yaml',
                           json.dumps(bootstrap)], capture_output=True, text=True, check=False)
    words = done.stdout + done.stderr
    refusal = re.search(r"error initializing configuration '': type \S+ Using .*?deprecated", words)
    if 'segmentation' in words.lower() or (done.returncode != 0 and not refusal and
                                           'initializing configuration' not in words):
        raise interop.Failure(f'Envoy does not answer: {words}')
    found = set(re.findall(r"deprecated option '([\w.]+)'", words))
    found |= set(re.findall(r'deprecated value (\w+) for enum', words))
    return bool(refusal), found


# ---- the node ----

class OurNode:
    def __init__(self, test):
        config = test.work / 'node.json'
        config.write_text(json.dumps({
            'node': {'id': 'node', 'cluster': 'mine'},
            'http': {'admin_pages': True, 'sockets': [{'address': '127.0.0.1:0'}]},
            'descriptor_sets': [os.environ['UDPA_ENVOY_DESCRIPTORS']],
            'validation': {'checks': ['RULES', 'DEPRECATED']}}))
        self.test = test
        self.node = interop.Node(test, 'node', bootstrap=config)
        interop.wait_for('the whole welcome', lambda: 'names without' in self.node.text())
        self.port = int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*REST',
                                  self.node.text()).group(1))

    def set(self, values):
        query = urllib.parse.urlencode(values)
        if query and ask(self.port, '/runtime_modify?' + query, 'POST') != b'OK\n':
            raise interop.Failure('the runtime cannot be changed')

    def ask(self, runtime, number):
        """Of each case: is it refused for what is deprecated?"""
        self.set({key: str(value).lower() for key, value in runtime.items()})
        documents = [{'name': f'n{at}-{number}', 'resource': without_nothing(resource)}
                     for at, resource in enumerate(CASES.values())]
        done = subprocess.run(
            [self.test.build / 'udpactl', '--server', self.node.address, '--descriptors',
             os.environ['UDPA_ENVOY_DESCRIPTORS'], 'apply', '-f', '-'],
            input=json.dumps(documents), capture_output=True, text=True, check=False)
        self.set({key: '' for key in runtime})
        refused = {int(at) for at in re.findall(
            r"listener local/n(\d+)-\d+ refused: .*deprecated .*; the runtime key \S+ allows it",
            done.stderr)}
        taken = {int(at) for at in re.findall(r'listener local/n(\d+)-\d+ applied', done.stdout)}
        if refused & taken or len(refused) + len(taken) != len(CASES):
            raise interop.Failure(f'udpactl: {done.stdout}{done.stderr}')
        return [at in refused for at in range(len(CASES))]

    def found(self, number):
        """Of each case that was taken with this runtime: the features in the log."""
        features = [set() for _ in CASES]
        for kind, name, at in re.findall(
                rf"using deprecated (\w+) '([\w.]+)' from \S+ 'local/n(\d+)-{number}'",
                self.node.text()):
            features[int(at)].add(name if kind == 'option' else name.rpartition('.')[2])
        return features


def compare(binary, node, number, runtime):
    ours = node.ask(runtime, number)
    found = node.found(number)
    wrong = []
    for at, (name, resource) in enumerate(CASES.items()):
        refused, features = ask_envoy(binary, without_nothing(resource), runtime)
        if refused != ours[at]:
            wrong.append(f'{name}: Envoy {"refuses" if refused else "takes"} it')
        elif not refused and features != found[at]:
            wrong.append(f'{name}: Envoy has found {features}, the node {found[at]}')
    interop.check(f'runtime {number}: the same {sum(ours)} of {len(CASES)} resources are refused'
                  f'{", but " if wrong else ""}{"; ".join(wrong)}', not wrong)
    return sum(ours)


def body(test):
    binary = interop.envoy_or_skip()
    if not os.path.exists(os.environ.get('UDPA_ENVOY_DESCRIPTORS', '')):
        interop.skip('UDPA_ENVOY_DESCRIPTORS names no file with the descriptors of Envoy')
    node = OurNode(test)
    refused = [compare(binary, node, number, runtime) for number, runtime in enumerate(RUNTIMES)]
    interop.check('some runtimes refuse much, some little',
                  min(refused) == 0 and max(refused) == len(CASES) - 2)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
