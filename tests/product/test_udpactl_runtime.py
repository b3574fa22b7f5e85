#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl runtime as its users meet it: what it prints, what it changes, who may, and with which words
and exit status it says that something is not to be had."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from product import PATIENCE_S, check, main, wait_for
from test_runtime import Node, layered, swap, write

GOOD, REFUSED, MISTAKE, NO_CONNECTION, TIMED_OUT = range(5)


class Ctl:
    def __init__(self, test, port, *options):
        self.command = [str(part) for part in (
            test.build / 'udpactl', '--http', f'127.0.0.1:{port}', *options, 'runtime')]

    def __call__(self, *arguments, status=GOOD):
        """What it prints; of a failure what it says."""
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        check(f'udpactl runtime {" ".join(arguments)}: exit status {status}',
              done.returncode == status, f'{done.returncode}\n{done.stdout}{done.stderr}')
        return done.stderr if status else done.stdout


def cells(text):
    """Rows of a table."""
    return [line.split() for line in text.splitlines()]


def test_looking(test):
    srv = test.work / 'srv'
    write(srv / 'v1/base/health_check/min_interval', '10\n')
    write(srv / 'v1/base/some/text', 'a & b=c\n')
    swap(srv, 'v1')
    node = Node(test, 'layers', layered(srv))
    ctl = Ctl(test, node.port)
    wait_for('the layer on disk', lambda: node.value('health_check.min_interval') == '10')
    shown = cells(ctl('get'))
    check('get has a table of all', shown[0] == ['KEY', 'VALUE'] and
          ['health_check.min_interval', '10'] in shown and ['only.static', 'true'] in shown and
          len(shown) == 5, shown)
    check('or of some', cells(ctl('get', 'only.static')) == [['KEY', 'VALUE'],
                                                             ['only.static', 'true']])
    check('get has JSON', json.loads(ctl('get', 'some.text', 'only.static', '-o', 'json')) ==
          {'some.text': 'a & b=c', 'only.static': 'true'})
    check('of all, too', len(json.loads(ctl('get', '-o', 'json'))) == 4)
    said = ctl('get', 'only.static', 'nowhere', status=REFUSED)
    check('a key that is not there is told', "there is no 'nowhere'" in said, said)
    shown = cells(ctl('layers'))
    check('layers has the layers in their order', shown[:5] == [
        ['LAYER', 'KIND', 'KEYS', 'STATE'], ['static', 'static', '3', 'effective'],
        ['disk', 'disk', '2', 'effective'], ['override', 'disk', '0', 'not', 'found'],
        ['admin', 'admin', '0', 'effective']], shown)
    check('and what each has of each key', shown[5:8] == [
        [], ['KEY', 'static', 'disk', 'admin', 'FINAL'],
        ['health_check.min_interval', '5', '10', '-', '10']], shown)
    page = json.loads(ctl('layers', '-o', 'json'))
    check('layers has JSON, of which what Envoy has is a part',
          page['layers'] == ['static', 'disk', 'admin'] and
          page['entries']['only.static'] == {'final_value': 'true',
                                             'layer_values': ['true', '', '']} and
          page['configured'][1] == {'name': 'disk', 'kind': 'disk_layer', 'in_use': True,
                                    'keys': 2}, page)
    write(srv / 'v1/base/numerator', '1')
    wait_for('the error', lambda: node.runtime()['errors'])
    line = next(row for row in ctl('layers').splitlines() if row.startswith('disk'))
    check('a layer that is ignored has a reason', 'ignored: ' in line and 'numerator' in line,
          line)
    (srv / 'v1/base/numerator').unlink()
    wait_for('the end of the error', lambda: not node.runtime()['errors'])
    return node, ctl


def test_changing(node, ctl):
    said = ctl('set', 'some.text=x=y z&+ä', 'new=1')
    check('set tells what was set', said == 'some.text set\nnew set\n', said)
    check('and it was', node.value('some.text') == 'x=y z&+ä' and node.value('new') == '1')
    said = ctl('set', 'new=2', 'bad.numerator=1', status=REFUSED)
    check('a change is all or nothing', '400' in said and 'reserved' in said and
          node.value('new') == '1', said)
    said = ctl('unset', 'some.text', 'new')
    check('unset tells what counts then', said ==
          "some.text unset: 'a & b=c' of layer 'disk' is effective\nnew unset\n", said)
    check('and it does', node.value('some.text') == 'a & b=c' and node.value('new') is None)
    ctl('unset', 'never.set')
    for arguments in (('set',), ('set', 'x'), ('set', 'x='), ('set', '=1'), ('unset',),
                      ('unset', 'x=1'), ('layers', 'x'), ('list',), ()):
        said = ctl(*arguments, status=MISTAKE)
        check('a mistake says how to write it', 'udpactl runtime unset KEY' in said or
              "udpactl runtime get" in said, said)
    check('other formats are refused', '-o yaml' in ctl('get', '-o', 'yaml', status=MISTAKE))


def test_what_has_no_effect(node, ctl):
    """A misspelt key and a value that may not be are set, as in Envoy, and do nothing."""
    for change, words in (
            ('udpa.log.level=loud', "'loud' is ignored: not one of debug, info, warning, error"),
            ('udpa.log.levl=debug', "did you mean 'udpa.log.level'?"),
            ('udpa.limits.max_streams=0', 'not a number from 1 to 4294967295'),
            ('udpa.timing.backoff_base_ms=86400000', 'is above udpa.timing.backoff_max_ms')):
        said = ctl('set', 'fine=1', change, status=REFUSED)
        check(f'{change}: no effect', 'has no effect' in said and words in said, said)
        key = change.split('=')[0]
        check('the page has the reason', key in node.runtime()['ignored'], node.runtime())
        check('and unset removes it', ctl('unset', key, 'fine') == f'{key} unset\nfine unset\n')
    check('nothing is ignored then', node.runtime()['ignored'] == {})
    check('what may be has an effect', ctl('set', 'udpa.log.level=info') == 'udpa.log.level set\n')
    ctl('unset', 'udpa.log.level')


def test_what_does_not_count(test):
    admin_first = {'runtime': {'layers': [{'name': 'admin', 'admin_layer': {}},
                                          {'name': 'last', 'static_layer': {'x': 1}}]}}
    ctl = Ctl(test, Node(test, 'first', admin_first).port)
    said = ctl('set', 'x=2', status=REFUSED)
    check('what another layer has more to say of is told',
          "x set, but is shadowed: '1' of layer 'last' is effective" in said, said)
    static = {'runtime': {'layers': [{'name': 'one', 'static_layer': {'x': 1}}]}}
    node = Node(test, 'static', static)
    said = Ctl(test, node.port)('set', 'x=2', status=REFUSED)
    check('without a layer of the administrator it says what to do', '503' in said and
          'no layer for the administrator' in said and 'runtime.layers in the bootstrap' in said
          and 'nothing was changed' in said, said)
    check('and nothing was', node.value('x') == '1')


def test_rules(test):
    """By certificates: who is allowed ADMIN, and who is not."""
    folder = test.work / 'certificates'
    for name in ('core', 'ops', 'shop'):
        subprocess.run([str(test.arguments.ca), str(folder), name],
                       check=True, capture_output=True)
    tls = {'certificate_file': str(folder / 'core.crt'),
           'private_key_file': str(folder / 'core.key'), 'client_ca_file': str(folder / 'ca.crt')}
    rules = [{'name': 'all', 'identities': ['*'], 'actions': ['PUBLISH', 'SUBSCRIBE']},
             {'name': 'operators', 'identities': ['ops'], 'actions': ['ADMIN']}]
    config = {'sockets': [{'address': '127.0.0.1:0', 'tls': tls}],
              'http': {'admin_pages': True, 'sockets': [{'address': '127.0.0.1:0', 'tls': tls}]}, 'acl': {'rules': rules}}
    node = Node(test, 'closed', config, http=False)

    def ctl(name, *more):
        return Ctl(test, node.port, '--ca', folder / 'ca.crt', '--cert', folder / f'{name}.crt',
                   '--key', folder / f'{name}.key', *more)

    named = ('--server-name', 'localhost')
    check('an administrator may look', ctl('ops', *named)('get', '-o', 'json') == '{}\n')
    check('and change', ctl('ops', *named)('set', 'x=1') == 'x set\n')
    for arguments in (('get',), ('layers',), ('set', 'x=2'), ('unset', 'x')):
        said = ctl('shop', *named)(*arguments, status=REFUSED)
        check('who is none is refused', '403' in said and 'action ADMIN' in said, said)
    check('and has changed nothing', json.loads(ctl('ops', *named)('get', '-o', 'json')) ==
          {'x': '1'})
    said = ctl('ops', '--server-name', 'elsewhere')('get', status=NO_CONNECTION)
    check('a certificate of another name is refused', 'elsewhere' in said, said)
    Ctl(test, node.port)('get', status=NO_CONNECTION)


def test_nobody_there(test):
    said = Ctl(test, 1)('get', status=NO_CONNECTION)
    check('without a connection it says what to do', '127.0.0.1:1' in said and
          'UDPACTL_HTTP' in said and 'http.sockets' in said, said)
    said = Ctl(test, 'x')('get', status=MISTAKE)
    check('an address that is none', 'HOST:PORT' in said, said)
    _, address = test.start_node('silent')
    said = Ctl(test, address.rsplit(':')[-1], '--timeout', 5)('get', status=NO_CONNECTION)
    check('a socket of gRPC', 'cannot ask' in said, said)
    for arguments in (('--server', '127.0.0.2:1', 'runtime', 'get'),
                      ('runtime', 'set', 'a=1', '--server', '127.0.0.2:1')):
        done = subprocess.run([str(test.build / 'udpactl'), *arguments], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False,
                              env={**os.environ, 'UDPACTL_HTTP': '127.0.0.1:1'})
        check('the node of --server is asked, not another one', done.returncode == NO_CONNECTION and
              'cannot ask 127.0.0.2:18080' in done.stderr, done.stderr)


def test_environment(test, node):
    done = subprocess.run([str(test.build / 'udpactl'), 'runtime', 'get', 'only.static'],
                          env={**os.environ, 'UDPACTL_HTTP': f'127.0.0.1:{node.port}'},
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    check('the environment names the node', 'true' in done.stdout, done.stderr)


def body(test):
    node, ctl = test_looking(test)
    test_changing(node, ctl)
    test_what_has_no_effect(node, ctl)
    test_environment(test, node)
    test_what_does_not_count(test)
    test_rules(test)
    test_nobody_there(test)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--ca', type=pathlib.Path, required=True)
    sys.exit(main(parser, body))
