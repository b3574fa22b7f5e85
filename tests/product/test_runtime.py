#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runtime of udpad as its users meet it: layers from the bootstrap file and from disk, swapped and
broken and mended; what the administrator sets; who may not."""
import argparse
import http.client
import json
import os
import re
import subprocess
import urllib.parse

from product import PATIENCE_S, check, main, wait_for

JSON = {'content-type': 'application/json'}
NAMES = ['admin_overrides_active', 'deprecated_feature_seen_since_process_start',
         'deprecated_feature_use', 'load_error', 'load_success', 'num_keys', 'num_layers',
         'override_dir_exists', 'override_dir_not_exists']


class Node:
    def __init__(self, test, name, config, *more, http=True, address=None):
        path = test.work / f'{name}.json'
        path.write_text(json.dumps({'node': {'id': name, 'cluster': 'mine'},
                                    'http': {'hosts': ['node.acme.com'], 'admin_pages': True}, **config}))
        if http:
            more += ('--http', '127.0.0.1:0')
        if 'sockets' not in config:
            more += ('--listen', address or '127.0.0.1:0')
        self.process = test.start(name, [test.build / 'udpad', '--node-id', name, '--state',
                                         test.work / f'{name}-data', '--config', path, *more])
        wait_for('the whole welcome', lambda: 'names without' in self.process.text())
        self.address = re.search(r'listening on (\S+)', self.process.text()).group(1)
        self.port = int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*REST',
                                  self.process.text()).group(1))

    def ask(self, method, path, body=None, headers=None):
        """(status, text, headers)"""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE_S)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer.headers

    def runtime(self):
        status, text, headers = self.ask('GET', '/runtime')
        if status != 200 or headers['content-type'] != 'application/json':
            return {}
        return json.loads(text)

    def value(self, key):
        return self.runtime()['entries'].get(key, {}).get('final_value')

    def set(self, **values):
        return self.ask('POST', '/runtime_modify?' + urllib.parse.urlencode(values))

    def statistics(self):
        lines = self.ask('GET', '/stats')[1].splitlines()
        return {name: int(value) for name, value in (line.split(': ') for line in lines)
                if name.startswith('runtime.')}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def swap(srv, version):
    (srv / 'new').symlink_to(version)
    os.replace(srv / 'new', srv / 'current')


def layered(srv):
    return {'runtime': {'layers': [
        {'name': 'static', 'static_layer': {
            'health_check': {'min_interval': 5}, 'only.static': True,
            'share': {'numerator': 1, 'denominator': 'MILLION'}}},
        {'name': 'disk', 'disk_layer': {'symlink_root': str(srv / 'current'),
                                        'subdirectory': 'base'}},
        {'name': 'override', 'disk_layer': {'symlink_root': str(srv / 'current'),
                                            'subdirectory': 'override',
                                            'append_service_cluster': True}},
        {'name': 'admin', 'admin_layer': {}}]}}


def test_layers(test):
    srv = test.work / 'srv'
    for version in ('v1', 'v2'):
        write(srv / version / 'base/health_check/min_interval', f'{version[1]}0\n')
    write(srv / 'v2/override/mine/health_check/min_interval', '# of this cluster\n99\n')
    swap(srv, 'v1')
    node = Node(test, 'layers', layered(srv))
    check('the layers that are there are named', node.runtime()['layers'] ==
          ['static', 'disk', 'admin'], node.runtime())
    check('the later layer counts', node.value('health_check.min_interval') == '10')
    entries = node.runtime()['entries']
    check('each layer is shown', entries['health_check.min_interval']['layer_values'] ==
          ['5', '10', ''] and entries['only.static'] ==
          {'final_value': 'true', 'layer_values': ['true', '', '']}, entries)
    swap(srv, 'v2')
    wait_for('the swap', lambda: node.value('health_check.min_interval') == '99')
    check('an override of the cluster is there now', node.runtime()['layers'] ==
          ['static', 'disk', 'override', 'admin'])
    before = node.statistics()
    check('all nine statistics', sorted(before) == [f'runtime.{name}' for name in NAMES], before)
    check('they count', before['runtime.num_layers'] == 4 and before['runtime.num_keys'] == 3 and
          before['runtime.override_dir_exists'] == 1 and
          before['runtime.override_dir_not_exists'] == 1 and
          before['runtime.load_error'] == 0, before)
    write(srv / 'v2/base/numerator', '1')
    wait_for('the error', lambda: 'disk' in node.runtime()['errors'])
    check('a layer in error is left out whole', node.runtime()['layers'] ==
          ['static', 'override', 'admin'] and 'numerator' in node.runtime()['errors']['disk'],
          node.runtime())
    check('and named in the log', 'layer disk is ignored' in node.process.text())
    (srv / 'v2/base/numerator').unlink()
    wait_for('the end of the error', lambda: not node.runtime()['errors'])
    check('it was counted', node.statistics()['runtime.load_error'] >= 1, node.statistics())
    return node


def test_administrator(node):
    status, text, _ = node.set(**{'health_check.min_interval': '7', 'a key': 'ä & b'})
    check('a change is answered OK', (status, text) == (200, 'OK\n'), text)
    check('and counts at once', node.value('health_check.min_interval') == '7' and
          node.value('a key') == 'ä & b')
    check('overrides are active', node.statistics()['runtime.admin_overrides_active'] == 1)
    for kind in ('application/x-www-form-urlencoded', 'text/plain', None):
        status, text, _ = node.ask('POST', '/runtime_modify', 'a+key=1',
                                   {'content-type': kind} if kind else None)
        check(f'a body of {kind} is refused', status == 415 and 'application/json' in text and
              node.value('a key') == 'ä & b', text)
    for body, words in (('{"a key": [1]}', 'a list'), ('["a"]', 'a JSON object'), ('{"a"', 'body')):
        status, text, _ = node.ask('POST', '/runtime_modify', body, JSON)
        check(f'the body {body} is refused', status == 400 and words in text, text)
    status, text, _ = node.ask('POST', '/runtime_modify',
                               json.dumps({'a key': '', 'health_check.min_interval': None,
                                           'more+': 'c + d', 'n': 1.5, 'is': True}), JSON)
    values = [node.value(key) for key in ('health_check.min_interval', 'a key', 'more+', 'n', 'is')]
    check('what is empty removes, by the body, too', status == 200 and
          values == ['99', None, 'c + d', '1.5', 'true'], f'{text} {values}')
    node.set(**{'more+': '', 'n': '', 'is': ''})
    check('overrides are not active', node.statistics()['runtime.admin_overrides_active'] == 0)
    status, text, _ = node.ask('POST', '/runtime_modify')
    check('a change without one is refused', status == 400 and 'usage' in text, text)
    status, text, _ = node.set(**{'x': '1', 'y.numerator': '1'})
    check('a reserved key is refused, and all with it', status == 400 and 'reserved' in text and
          node.value('x') is None, text)
    status, _, headers = node.ask('GET', '/runtime_modify?x=1')
    check('a change is no GET', status == 405 and headers['allow'] == 'POST' and
          node.value('x') is None)
    status, _, headers = node.ask('POST', '/runtime')
    check('reading is no POST', status == 405 and headers['allow'] == 'GET, HEAD')
    status, text, _ = node.ask('POST', '/runtime_modify?x=' + 'y' * 5000)
    check('what is too long says what to do', status == 414 and 'body' in text, text)
    status, text, _ = node.ask('POST', '/runtime_modify?x=%zz')
    check('what is not percent-encoded is refused', status == 400 and 'encoded' in text, text)
    for fields in ({'origin': 'http://evil.example'}, {'origin': 'null'},
                   {'sec-fetch-site': 'cross-site'}, {'host': 'evil.example:8080'}):
        status, text, _ = node.ask('POST', '/runtime_modify?x=1', headers=fields)
        check(f'no page of others may: {fields}', status == 403 and node.value('x') is None, text)
    status, text, _ = node.ask('GET', '/runtime', headers={'host': 'evil.example'})
    check('nor read', status == 403 and 'http.hosts' in text, text)
    for fields in ({'host': 'node.acme.com'}, {'host': 'udpad:80', 'origin': 'http://udpad:80'}):
        status, text, _ = node.ask('GET', '/runtime', headers=fields)
        check(f'who is known may: {fields}', status == 200, text)
    status, text, _ = node.ask('GET', '/stats/prometheus')
    check('statistics for Prometheus', status == 200 and all(
        re.search(rf'^# TYPE udpa_runtime_{name} (gauge|counter)\nudpa_runtime_{name} \d+$', text,
                  re.MULTILINE) for name in NAMES), text)


def break_layer(srv, node):
    """Breaks the layer on disk and mends it; how many lines of the log tell of that."""
    before = node.process.text().count('layer disk is ignored')
    write(srv / 'v2/base/numerator', '1')
    wait_for('the error', lambda: 'disk' in node.runtime()['errors'])
    (srv / 'v2/base/numerator').unlink()
    wait_for('the end of the error', lambda: not node.runtime()['errors'])
    return node.process.text().count('layer disk is ignored') - before


def test_log_level(test, node):
    srv = test.work / 'srv'
    check('a warning is logged', break_layer(srv, node) == 1)
    node.set(**{'udpa.log.level': 'error'})
    check('but not at the level error', break_layer(srv, node) == 0)
    node.set(**{'udpa.log.level': ''})
    check('that of the file counts again', break_layer(srv, node) == 1)
    node.set(**{'udpa.log.level': 'loud'})
    wait_for('a warning', lambda: "udpa.log.level: 'loud' is ignored" in node.process.text())
    node.set(**{'udpa.log.level': ''})


def test_nothing_configured(test):
    node = Node(test, 'plain', {})
    check('without a configuration there is an administrator',
          node.runtime() == {
              'layers': ['admin'], 'errors': {}, 'entries': {}, 'ignored': {}, 'configured': [
                  {'name': 'admin', 'kind': 'admin_layer', 'in_use': True, 'keys': 0}]},
          node.runtime())
    node.set(x='1')
    check('who can set', node.value('x') == '1')


def test_without_administrator(test):
    node = Node(test, 'static', {'runtime': {'layers': [
        {'name': 'one', 'static_layer': {'x': 1}}]}})
    status, text, _ = node.set(x='2')
    check('layers without an administrator: 503', status == 503 and 'administrator' in text, text)
    check('and nothing has changed', node.value('x') == '1')


def test_fixed(test):
    srv = test.work / 'fixed'
    write(srv / 'v1/envoy/a', '2')
    write(srv / 'v1/envoy_override/mine/b', '3')
    swap(srv, 'v1')
    node = Node(test, 'fixed', {'runtime': {
        'base': {'a': 1, 'c': 1}, 'symlink_root': str(srv / 'current'), 'subdirectory': 'envoy',
        'override_subdirectory': 'envoy_override'}})
    check('the four fields that were before there were layers stand for layers',
          node.runtime()['layers'] == ['base', 'root', 'override', 'admin'] and
          [node.value(key) for key in 'abc'] == ['2', '3', '1'], node.runtime())


def test_rules(test):
    rules = [{'name': 'publishers', 'identities': ['*'], 'actions': ['PUBLISH', 'SUBSCRIBE']}]
    node = Node(test, 'closed', {'acl': {'rules': rules}})
    for method, path in (('GET', '/runtime'), ('POST', '/runtime_modify?x=1'), ('GET', '/stats'),
                         ('GET', '/stats/prometheus')):
        status, text, _ = node.ask(method, path)
        check(f'who is no administrator is refused {path}', status == 403 and
              'udpa.node/runtime' in text, text)
    rules.append({'name': 'all', 'identities': ['*'], 'actions': ['ADMIN']})
    node = Node(test, 'open', {'acl': {'rules': rules}})
    node.set(x='1')
    check('who is one is not', node.value('x') == '1')


def check_config(test, runtime, words, cluster='mine'):
    path = test.work / 'wrong.json'
    path.write_text(json.dumps({'node': {'id': 'x', 'cluster': cluster}, 'runtime': runtime}))
    done = subprocess.run([str(test.build / 'udpad'), '--check', '--config', str(path)],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    check(f'a mistake is told: {words}', done.returncode != 0 and
          words in done.stdout + done.stderr, done.stdout + done.stderr)


def test_mistakes(test):
    admin = {'admin_layer': {}}
    check_config(test, {'layers': [{'name': 'a', **admin}, {'name': 'b', **admin}]}, 'at most one')
    check_config(test, {'layers': [{'name': 'a', **admin},
                                   {'name': 'a', 'static_layer': {}}]}, 'are called a')
    check_config(test, {'layers': [{'name': 'a'}]}, 'is of no kind')
    check_config(test, {'layers': [{'name': 'a', 'static_layer': {'x': [1]}}]}, 'x is a list')
    check_config(test, {'layers': [{'name': 'a', 'disk_layer': {}}]}, 'symlink_root')
    check_config(test, {'layers': [{'name': 'a', 'disk_layer': {
        'symlink_root': '/srv', 'append_service_cluster': True}}]}, 'node.cluster', '')
    check_config(test, {'layers': [{'name': 'a', **admin}], 'symlink_root': '/srv'}, 'go without')


def body(test):
    node = test_layers(test)
    test_administrator(node)
    test_log_level(test, node)
    test_nothing_configured(test)
    test_without_administrator(test)
    test_fixed(test)
    test_rules(test)
    test_mistakes(test)
    check('the node ends as it should', test.interrupt(node.process) == 0, node.process.text())


if __name__ == '__main__':
    raise SystemExit(main(argparse.ArgumentParser(description=__doc__), body))
