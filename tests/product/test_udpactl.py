#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl with udpad, as people and scripts call it: what it prints, where, and its exit status."""
import argparse
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from product import check, main, wait_for

STRING = 'type.googleapis.com/google.protobuf.StringValue'
SECRET = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'
HUSH = b'hush-hush'
RESOURCE_MAX = 3584 * 1024


def greeting(name, text):
    return f'name: {name}\nresource:\n  "@type": {STRING}\n  value: {json.dumps(text)}\n'


def varint(number):
    out = b''
    while number > 127:
        out += bytes([number % 128 | 128])
        number //= 128
    return out + bytes([number])


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def resource_with(name, type_url, value):
    """An Any of an envoy.service.discovery.v3.Resource."""
    payload = field(1, type_url.encode()) + field(2, value)
    resource = field(2, payload) + field(3, name.encode())
    return (field(1, b'type.googleapis.com/envoy.service.discovery.v3.Resource') +
            field(2, resource))


def response_with(resource):
    """A DiscoveryResponse with this one."""
    return field(2, resource)


class Ctl:
    """Calls udpactl at one node."""

    def __init__(self, test, address, *options):
        self.command = [test.build / 'udpactl', '--server', address,
                        '--descriptors', test.build / 'proto' / 'udpa.descriptors', *options]

    def __call__(self, *arguments, stdin='', status=0, err=''):
        """Its standard output; its exit status and a part of its standard error must be these."""
        done = subprocess.run([str(part) for part in [*self.command, *arguments]], text=True,
                              capture_output=True, input=stdin, check=False)
        words = ' '.join(str(argument) for argument in arguments)
        check(f'udpactl {words}: exit status {status}', done.returncode == status,
              f'{done.returncode}: {done.stdout}{done.stderr}')
        if err:
            check(f'  and says …{err}…', err in done.stderr, done.stderr)
        elif status == 0:
            check('  and complains of nothing', not done.stderr, done.stderr)
        return done.stdout


def check_apply(test, ctl):
    out = ctl('apply', '-f', '-', stdin=greeting('hello', 'hello, world'))
    check('  it tells the version', re.fullmatch(
        r'google.protobuf.StringValue local/hello applied \(version [0-9a-f]{32}\)\n', out), out)
    files = test.work / 'files'
    files.mkdir()
    (files / 'a.yaml').write_text(greeting('a', '1') + '---\n' + greeting('com.acme/b', '2'))
    (files / 'c.json').write_text(json.dumps(
        {'name': 'c', 'resource': {'@type': STRING, 'value': '3'}}))
    (files / 'README.txt').write_text('not a resource')
    out = ctl('apply', '-f', files)
    names = re.findall(r'StringValue (\S+) applied', out)
    check('  all documents of all files', names == ['local/a', 'com.acme/b', 'local/c'], out)
    out = ctl('-n', 'org.example', 'apply', '-f', files / 'c.json')
    check('  in the namespace that was given', 'org.example/c applied' in out, out)


def check_mistakes(test, ctl):
    bad = test.work / 'bad.yaml'
    bad.write_text(greeting('new', 'x') + '---\n' + greeting('bad', 'x').replace('value:', 'valeu:'))
    ctl('apply', '-f', bad, status=2, err=f'{bad}:9:')
    ctl('get', 'google.protobuf.StringValue', 'new', status=1, err="'local/new'")
    twice = test.work / 'twice.yaml'
    twice.write_text(greeting('hello', 'again'))
    ctl('apply', '-f', twice, '-f', '-', stdin=greeting('hello', 'x'), status=2,
        err="'local/hello' is already at")
    ctl('apply', '-f', '-', stdin=greeting('udpa.node/x', 'x'), status=1, err='reserved namespace')
    ctl('apply', '-f', test.work / 'none.yaml', status=2, err='none.yaml: No such file')
    ctl('apply', '-f', '-', stdin='# nothing\n', status=2, err='no resources')
    cluster = '"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: x\n'
    ctl('apply', '-f', '-', stdin=cluster, status=2, err='envoy.config.cluster.v3.Cluster')
    for wrong in (['apply'], ['apply', 'x'], ['delete'], ['delete', 'cluster'], ['foo'], [],
                  ['get', 'clustr'], ['-o', 'xml', 'get'], ['--timeout', 'long', 'get'],
                  ['--key', 'x', 'get'], ['status', 'things'], ['get', '-f', bad], ['watch', '-f', bad], ['status', '-f', bad],
                  ['status', '-n', 'com.acme'], ['delete', '-o', 'json', 'cluster', 'x']):
        ctl(*wrong, status=2, err='udpactl')
    for name in ('No_name', '', 'a..b', '/x'):
        ctl('-n', name, 'get', status=2, err=f'-n {name}: a namespace has labels')
    ctl('--node-id', '', 'get', status=2, err='--node-id')


def check_files(test, ctl):
    """What can be read is read to its end, and published as a whole or not at all."""
    odd = test.work / 'odd'
    odd.mkdir()
    os.mkfifo(odd / 'pipe.yaml') # nobody writes into it
    for path in (odd, odd / 'pipe.yaml', '/dev/null'):
        ctl('apply', '-f', path, status=2, err='is no regular file')
    mixed = test.work / 'mixed.yaml'
    rest = RESOURCE_MAX - len(STRING) - len('local/large') - 500
    mixed.write_text(greeting('small', 'x') + '---\n' + greeting('large', 'x' * (rest + 1000)))
    ctl('apply', '-f', mixed, status=2, err=f"{mixed}:6: google.protobuf.StringValue 'local/large' has ")
    ctl('get', STRING, 'small', status=1, err="'local/small'")
    mixed.write_text(greeting('small', 'x') + '---\n' + greeting('large', 'x' * rest))
    out = ctl('apply', '-f', mixed)
    check('  the largest is applied', 'local/large applied' in out, out)
    ctl('delete', STRING, 'small', 'large')


def check_get(ctl):
    out = ctl('get')
    lines = [line.split() for line in out.splitlines()]
    check('  heads, and a line for each', lines[0] == ['TYPE', 'NAME', 'VERSION', 'AUTHORITY', 'PATH']
          and [line[1] for line in lines[1:]] == ['com.acme/b', 'local/a', 'local/c', 'local/hello',
                                                  'org.example/c'], out)
    check('  with who answers for it, and the way', lines[1][3:] == ['udpactl', 'node'], out)
    out = ctl('-n', 'org.example', 'get', '-o', 'name')
    check('  one namespace', out == 'google.protobuf.StringValue/org.example/c\n', out)
    out = ctl('get', 'google.protobuf.StringValue', 'hello', 'com.acme/b', '-o', 'json')
    found = {one['name']: one['resource']['value'] for one in json.loads(out)}
    check('  JSON', found == {'local/hello': 'hello, world', 'com.acme/b': '2'}, out)
    out = ctl('get', STRING, 'nobody', 'hello', '-o', 'name', status=1,
              err="there is no google.protobuf.StringValue 'local/nobody'")
    check('  what is there is shown all the same', out.endswith('local/hello\n'), out)
    check('  of one in another namespace it is said where it is', ctl(
        'get', STRING, 'b', status=1, err="there is the google.protobuf.StringValue "
        "'com.acme/b': write its whole name, or its namespace (-n)") == '')
    said = subprocess.run([str(part) for part in [*ctl.command, '-n', 'local', 'get', STRING, 'b']],
                          capture_output=True, text=True, check=False).stderr
    check('  but not if a namespace was given', 'there is no' in said and
          'there is the' not in said, said)
    check('  an empty array', ctl('get', 'cluster', '-o', 'json', err='there is no cluster')
          == '[]\n')
    check('  the same without a table', ctl('get', 'cluster', err='there is no cluster') == '')


def check_xds(ctl):
    """The node as a server of xDS, of which udpactl is a client."""
    name = 'google.protobuf.StringValue'
    out = ctl('xds', 'get', name, '-o', 'name')
    check('xds get: all that the server has of a type',
          sorted(out.split()) == [f'{name}/local/{one}' for one in ('a', 'c', 'hello')], out)
    out = ctl('-n', 'org.other', 'xds', 'get', name, 'hello', '-o', 'json')
    found = {one['name']: one['resource']['value'] for one in json.loads(out)}
    check('  by name, in the namespace that is wanted',
          found == {'org.other/hello': 'hello, world'}, out)
    ctl('xds', 'get', name, 'nobody', status=1, err=f"there is no {name} 'local/nobody'")
    check('  what is missing is told', True)
    ctl('xds', 'status', status=2, err="write 'xds get TYPE [NAME...]'")
    ctl('xds', 'get', status=2, err="write 'xds get TYPE [NAME...]'")
    ctl('get', '--state-of-the-world', status=2, err='goes with xds')
    ctl('get', '--rest', status=2, err='goes with xds')
    ctl('xds', 'get', '--rest', 'a.B', status=2, err='REST has no path for a.B')
    check('  mistakes', True)


def check_edit(ctl):
    """What 'get' prints can be edited and applied: it is another version then."""
    text = ctl('get', STRING, 'hello', '-o', 'yaml')
    out = ctl('apply', '-f', '-', stdin=text.replace('hello, world', 'good morning'))
    check('  applied', 'local/hello applied' in out, out)
    text = ctl('get', STRING, 'hello', '-o', 'yaml')
    check('  what was edited is there', 'value: good morning' in text, text)


def check_printed_names(test, ctl):
    """What is printed can be used as input, in a namespace of one label too."""
    out = ctl('-n', 'prod', 'apply', '-f', '-', stdin=greeting('backend', 'x'))
    check('  applied in its namespace', 'prod/backend applied' in out, out)
    ctl('apply', '-f', '-', stdin=greeting('route/host', 'x'))
    for name in ('prod/backend', 'local/route/host', 'route/host'):
        full = 'local/route/host' if name == 'route/host' else name
        out = ctl('get', STRING, name, '-o', 'name')
        check('  found', out == f'google.protobuf.StringValue/{full}\n', out)
    for form in ('yaml', 'json'):
        path = test.work / f'printed.{form}'
        path.write_text(ctl('get', STRING, '-o', form))
        before = ctl('get', '-o', 'name')
        out = ctl('apply', '-f', path)
        check(f'  -o {form} can be applied', 'prod/backend applied' in out, out)
        check('  and makes nothing new', ctl('get', '-o', 'name') == before)
    out = ctl('delete', STRING, 'prod/backend', 'route/host')
    check('  deleted', re.findall(r'StringValue (\S+) deleted', out) ==
          ['local/route/host', 'prod/backend'], out)


def check_secret(test, ctl):
    path = test.work / 'secret.pb'
    path.write_bytes(response_with(resource_with('key', SECRET, field(2, HUSH))))
    out = ctl('apply', '-f', path)
    check('  applied', 'secret local/key applied' in out, out)
    for form in ('yaml', 'json', 'table', 'name'):
        out = ctl('get', 'secret', '-o', form)
        check(f'  -o {form} has the name', 'local/key' in out, out)
        check(f'  -o {form} does not have the secret',
              HUSH.decode() not in out and 'aHVzaC' not in out, out)
    text = ctl('get', 'secret', 'key', '-o', 'yaml')
    check('  and says so', 'redacted:' in text, text)
    json.loads(ctl('get', 'secret', 'key', '-o', 'json'))
    for form in ('yaml', 'json'): # it must not replace the secret
        ctl('apply', '-f', '-', stdin=ctl('get', '-o', form), status=2,
            err='what this secret holds was hidden')
    ctl('delete', 'secret', 'key')


def check_delete(test, ctl):
    out = ctl('delete', STRING, 'a', 'nobody', status=1, err="'local/nobody'")
    check('  what was there is deleted', out == 'google.protobuf.StringValue local/a deleted\n', out)
    out = ctl('delete', '-f', test.work / 'files', status=1, err="'local/a'")
    check('  what the files name', out.count(' deleted\n') == 2, out)
    ctl('--node-id', 'other', 'apply', '-f', '-', stdin=greeting('theirs', 'x'))
    ctl('delete', STRING, 'theirs', status=1,
        err="is still there: it comes from publisher:/other (authority 'other')")
    out = ctl('--node-id', 'other', 'delete', STRING, 'theirs')
    check('  by who applied it', 'theirs deleted' in out, out)


def check_watch(test, ctl):
    watch = test.start('watch', [*ctl.command, 'watch', '-o', 'name'])
    one = test.start('watch-json', [*ctl.command, 'watch', STRING, 'hello', '-o', 'json'])
    table = test.start('watch-table', [*ctl.command, 'watch', STRING])
    watch.wait_for_log('added google.protobuf.StringValue/local/hello')
    one.wait_for_log('"event":"added"')
    ctl('apply', '-f', '-', stdin=greeting('hello', 'changed'))
    watch.wait_for_log('changed google.protobuf.StringValue/local/hello')
    said = json.loads(one.wait_for_log('"event":"changed"'))
    check('watch tells changes', said['resource']['resource']['value'] == 'changed', said)
    ctl('delete', STRING, 'hello')
    watch.wait_for_log('removed google.protobuf.StringValue/local/hello')
    table.wait_for_log('removed ')
    one.wait_for_log('"event":"removed"')
    path = test.work / 'late.pb'
    path.write_bytes(response_with(resource_with('late', 'type.googleapis.com/a.Type', b'')))
    ctl('apply', '-f', path)
    watch.wait_for_log('added a.Type/local/late') # a type that the node did not have before
    check('watch ends by SIGINT', test.interrupt(watch) == 0, watch.text())
    check('and by SIGTERM', test.interrupt(one, signal.SIGTERM) == 0, one.text())
    return table


def check_status(ctl):
    out = ctl('status', '--all')
    for part in ('NODE', 'node ', '0.1.0', 'RESOURCES', 'a.Type', 'SESSIONS', 'SUBSCRIPTIONS',
                 'udpactl', 'udpa.node'):
        check(f'  status has {part}', part in out, out)
    check('  no sources', ctl('status', 'sources') == 'none\n')
    own = "type.googleapis.com/udpa.status.v1.SessionStatus"

    def asks(*options):
        return [one for one in json.loads(ctl('status', 'sessions', '-o', 'json', *options))
                if [of['typeUrl'] for of in one['resource'].get('subscriptions', [])] == [own]]

    check('  our own session is not shown', asks() == [])
    check('  short names', 'udpa.node/node/node' in ctl('get', 'node', '-o', 'name'))


def check_status_is_new(test):
    """While somebody watches it, each change is in the status soon: ten within the time of five before."""
    _, address = test.start_node('watched')
    ctl = Ctl(test, address)
    watch = test.start('watch-status', [*ctl.command, 'watch', 'node'])
    watch.wait_for_log('udpa.node/watched/node')

    def count():
        status = json.loads(ctl('get', 'node', '-o', 'json'))[0]['resource']
        return sum(int(one.get('nResources', 0)) for one in status.get('types', []))

    took, began = 0, []
    for i in range(10):
        before = count()
        ctl('apply', '-f', '-', stdin=greeting(f'n{i}', 'x'))
        begin = time.monotonic()
        wait_for('the change in the status',
                 lambda: began.append(time.monotonic()) or count() == before + 1)
        took += began[-1] - begin # without what udpactl took, on a machine that may be busy
    check('ten changes are in the status soon', took < 6, took)
    watch.kill()


def check_default_namespace(test):
    """Names without a namespace mean what they mean to the node; who may not be told goes by local."""
    for name, more, expected in (('spaced', {}, 'org.acme'), ('closed', {'acl': {'rules': [
            {'name': 'all', 'identities': ['*'], 'actions': ['SUBSCRIBE', 'PUBLISH'],
             'on_behalf_of': ['*']}]}}, 'local')):
        _, address = test.start_below(name, {'node': {'id': name, 'namespace': 'org.acme'}, 'store': {
            'directory': str(test.work / f'{name}-data')}, **more}, None, [])
        ctl = Ctl(test, address)
        ctl('apply', '-f', '-', stdin=greeting('plain', 'x'))
        out = ctl('get', STRING, '-o', 'name')
        check(f'a name without one at {name}', out == f'google.protobuf.StringValue/{expected}/plain\n', out)
        ctl('get', STRING, 'plain')
        ctl('-n', 'com.other', 'apply', '-f', '-', stdin=greeting('other', 'x'))
        ctl('get', STRING, 'other', status=1, err="there is the google.protobuf.StringValue 'com.other/other'")
        bench = (['bench', '--publish', '--streams', '4', '--resources', '50', '--changes', '5'],
                 ['bench', '--publish', '--streams', '4', '--resources', '50', '--idle'])
        for arguments in bench if name == 'spaced' else ():
            ctl(*arguments)
            ctl('get', 'endpoint', err='there is no endpoint') # bench leaves nothing behind
        ctl('delete', STRING, 'plain')


def check_wait(test):
    """Who has acknowledged it; tests/interop has clients that do not."""
    _, address = test.start_node('asked')
    ctl = Ctl(test, address)
    path = test.work / 'waited.yaml'
    path.write_text(greeting('waited', '1') + '---\n' + greeting('com.acme/waited', '1'))
    out = ctl('apply', '--wait', '-f', path, status=4, err='no client subscribes to what was applied')
    check('  nobody subscribes', out.count('no subscribers') == 2, out)
    ctl('apply', '--wait', '--at-least', '0', '-f', path)
    ctl('wait', '-f', path)
    watch = test.start('watch-waited', [*ctl.command, 'watch', STRING])
    watch.wait_for_log('StringValue local/waited')
    watch.wait_for_log('StringValue com.acme/waited')
    out = ctl('wait', '-f', path, '--at-least', '1')
    check('  who watches has it', out.count('1 of 1 have version') == 2, out)
    path.write_text(greeting('waited', '2'))
    ctl('wait', '-f', path, '--timeout', '1', status=4)
    out = ctl('apply', '--wait', '-f', path)
    check('  who watches has the new version, too', '1 of 1 have version' in out, out)
    said = json.loads(ctl('wait', STRING, 'waited', '-o', 'json'))
    check('  JSON tells whom', [(one['state'], one['protocol']) for one in said[0]['sessions']] ==
          [('acknowledged', 'udpa')] and said[0]['result'] == 'acknowledged', said)
    version = said[0]['version']
    ctl('wait', STRING, 'waited', '--resource-version', version)
    ctl('wait', STRING, 'waited', '--at-least', '2', '--timeout', '1', status=4)
    out = ctl('delete', '--wait', '-f', path)
    check('  it is gone', 'have acknowledged its removal' in out, out)
    ctl('wait', '--gone', STRING, 'waited')
    ctl('wait', '--gone', '-n', 'com.acme', STRING, 'waited', '--timeout', '1', status=4)
    ctl('delete', STRING, 'com.acme/waited')
    for mistake, words in ((['wait'], 'wait takes a type and names, or files'),
                           (['wait', STRING], 'wait takes'),
                           (['wait', STRING, 'a', '-f', path], 'wait takes'),
                           (['wait', '-f', path, '--resource-version', '1'], 'one name'),
                           (['wait', STRING, 'a', '-o', 'yaml'], 'table and json'),
                           (['wait', STRING, 'a', '--at-least', 'x'], 'give a number'),
                           (['get', '--wait'], '--wait goes with'),
                           (['get', '--gone'], 'go with wait'),
                           (['apply', '-f', path, '--at-least', '1'], 'or with --wait'),
                           (['wait', 'x/y/z', 'a'], "exactly one '/'")):
        ctl(*mistake, status=2, err=words)
    check('watch ends', test.interrupt(watch) == 0, watch.text())
    waiting = test.start('wait', [*ctl.command, 'wait', STRING, 'never'])
    wait_for('the question', lambda: 'AcknowledgementStatus' in ctl('status', 'sessions'))
    check('an interrupt ends it as the timeout does', test.interrupt(waiting) == 4, waiting.text())


def check_second_node(test, address):
    """A node that has the first one as its source, and one that is not there."""
    host, port = address.rsplit(':', 1)
    bootstrap = test.work / 'edge.yaml'
    bootstrap.write_text(
        'static_resources:\n  config_sources:\n'
        f'  - {{name: core, udpa: {{address: "{host}:{port}"}}}}\n'
        '  - {name: gone, udpa: {address: "127.0.0.1:1"}}\n'
        'providers:\n- config_descriptors:\n'
        '  - {resource_name: core, continuation: CONTINUE}\n'
        '  - {resource_name: gone}\n')
    _, edge_address = test.start_node('edge', '-c', bootstrap)
    ctl = Ctl(test, edge_address)
    out = wait_for('both sources in the status', lambda: (text := ctl('status', 'sources')) and
                   'active' in text and 'Connection refused' in text and text)
    check('their states', re.search(r'core +udpa +127\S+ +active', out) and
          re.search(r'gone +udpa +127.0.0.1:1 +(waiting|connecting)', out), out)


def check_origins(test, address):
    """What everybody says under one name, and which way it has come."""
    bootstrap = test.work / 'origins.yaml'
    bootstrap.write_text('static_resources:\n  config_sources:\n'
                         f'  - {{name: core, udpa: {{address: "{address}"}}}}\n'
                         'providers:\n- types: [google.protobuf.StringValue]\n'
                         '  config_descriptors: [{resource_name: core}]\n')
    _, edge_address = test.start_node('origins', '-c', bootstrap)
    core, ctl = Ctl(test, address), Ctl(test, edge_address)
    core('apply', '-f', '-', stdin=greeting('origin', 'of core'))
    wait_for('it at the edge', lambda: 'local/origin' in ctl('get', STRING, '-o', 'name'))
    check('the path of a resource', re.fullmatch(
        r'google.protobuf.StringValue/local/origin by udpactl\n  node took it from udpactl at \S+\n'
        r'  origins took it from node at \S+\n',
        path := ctl('get', STRING, 'origin', '-o', 'path')), path)
    ctl('--node-id', 'other', 'apply', '-f', '-', stdin=greeting('origin', 'of another'))
    out = ctl('get', STRING, 'origin', '--all-origins')
    check('all origins of a name, the best first', re.search(
        r'publisher:/other +other +\S+ +\d+ +effective +-\n.*source:core +udpactl +\S+ +\d+ +shadowed '
        r'+node\n', out), out)
    out = ctl('--node-id', 'other', 'delete', STRING, 'origin')
    check('what was published is deleted, and what is behind it is told', "what node id 'other' had "
          "published is deleted; source:core (authority 'udpactl') provides it still" in out, out)
    out = ctl('get', STRING, '--all-origins')
    check('what goes reveals the next', re.search(r'source:core .* effective +node\n', out) and
          'publisher' not in out, out)
    told = json.loads(ctl('get', STRING, 'origin', '--all-origins', '-o', 'json'))
    check('the same in JSON', told[0]['resource']['contributions'][0]['origin'] == 'source:core')
    ctl('get', STRING, 'nobody', '--all-origins', status=1, err="no origin has a contribution to 'local/nobody'")
    ctl('watch', '--all-origins', status=2, err='--all-origins goes with get')
    ctl('status', '-o', 'path', status=2, err='-o path goes with get')
    core('delete', STRING, 'origin')


def check_waiting_node(test):
    """A node that has nothing, because its source has not told it anything yet."""
    bootstrap = test.work / 'waiting.yaml'
    bootstrap.write_text('static_resources:\n  config_sources:\n'
                         '  - {name: gone, udpa: {address: "127.0.0.1:1"}}\n'
                         'providers:\n- config_descriptors:\n  - {resource_name: gone}\n')
    _, address = test.start_node('waiting', '-c', bootstrap)
    ctl = Ctl(test, address, '--timeout', '3') # a second of it before it asks whom for
    watch = test.start('watch-waiting', [*ctl.command, 'watch', 'cluster'])
    for what in ([], ['cluster'], ['cluster', 'backend']):
        out = ctl('get', *what, status=4, err=f'{address} has not synchronized within 3 s: '
                                              'it waits for gone itself')
        check('  it does not say that there is nothing', out == '', out)
    check('  what it says of itself is there', 'waiting' in ctl('get', 'node'))
    out = ctl('status')
    check('  status tells for whom it waits', re.search(r'\ncluster +0 +gone\n', out), out)
    watch.wait_for_log('waits for gone itself')
    check('watch goes on', test.interrupt(watch) == 0, watch.text())


def check_on_demand(test, address):
    """A source that is asked for single names is waited for only with what it was asked."""
    bootstrap = test.work / 'on-demand.yaml'
    bootstrap.write_text(f'static_resources:\n  config_sources:\n'
                         f'  - {{name: core, udpa: {{address: "{address}"}}}}\n'
                         'providers:\n- config_descriptors:\n'
                         '  - {resource_name: core, mode: ON_DEMAND}\n')
    _, edge_address = test.start_node('on-demand', '-c', bootstrap)
    ctl = Ctl(test, edge_address)
    ctl('get', 'a.Type', 'late')
    out = ctl('status')
    check('  it waits for nobody', re.search(r'\na.Type +1 +-\n', out), out)


def check_goes_before(test):
    """What the node has from a file goes before what is published."""
    directory = test.work / 'owned'
    directory.mkdir()
    (directory / 'a.yaml').write_text(greeting('owned', 'of the file'))
    _, address = test.start_node('owner', '--resources', directory, '--descriptors',
                                 test.build / 'proto' / 'udpa.descriptors')
    ctl = Ctl(test, address)
    out = ctl('apply', '-f', '-', stdin=greeting('free', 'x') + '---\n' + greeting('owned', 'mine'),
              status=1, err="local/owned is applied, but is shadowed by the contribution of 'owner'")
    check('  what counts is told as ever', re.fullmatch(r'\S+ local/free applied \(.*\)\n', out), out)
    out = ctl('apply', '-f', '-', stdin=greeting('owned', 'of the file'))
    check('  the same is not worth a word', 'local/owned applied' in out, out)
    many = '---\n'.join(greeting(f'many-{i}', 'x') for i in range(2500))
    out = ctl('apply', '-f', '-', stdin=many) # more than go into one message
    check('  all of many', out.count(' applied ') == 2500, len(out))


def check_closed_streams(test, ctl):
    """A program may be started without its standard streams; what it does is the same."""
    path = test.work / 'closed.yaml'
    path.write_text(greeting('closed', 'x'))
    for arguments in (['get'], ['status'], ['get', STRING, 'nobody'], ['apply', '-f', path],
                      ['delete', STRING, 'closed']):
        for closed in ('0<&-', '>&-', '2>&-', '<&- >&- 2>&-'):
            done = subprocess.run(['sh', '-c', f'"$@" {closed}', 'sh', *ctl.command, *arguments],
                                  capture_output=True, text=True, check=False)
            check(f'udpactl {arguments[0]} {closed}: exit status {done.returncode}',
                  done.returncode == (1 if 'nobody' in arguments else 0), done.stdout + done.stderr)
            if arguments[0] == 'delete':
                ctl('apply', '-f', path)
    ctl('delete', STRING, 'closed')


def check_no_answer(test, node):
    ctl = Ctl(test, '127.0.0.1:1')
    ctl('get', status=3, err='cannot connect to 127.0.0.1:1: Connection refused')
    ctl('apply', '-f', '-', stdin=greeting('x', 'x'), status=3, err='--server HOST:PORT')
    ctl('watch', status=3, err='127.0.0.1:1')
    with socket.socket() as mute:
        mute.bind(('127.0.0.1', 0))
        mute.listen()
        address = f'127.0.0.1:{mute.getsockname()[1]}'
        Ctl(test, address, '--timeout', '0.3')('get', status=4,
                                               err=f'no answer from {address} within 0.3 s')
    check('the node ends', test.interrupt(node) == 0, node.text())


def check_tls(test):
    certificates = test.work / 'certificates'
    for name in ('node', 'operator'):
        subprocess.run([test.arguments.ca, certificates, name], check=True,
                       stdout=subprocess.DEVNULL)
    bootstrap = test.work / 'tls.yaml'
    bootstrap.write_text(
        'sockets:\n- address: "127.0.0.1:0"\n  tls:\n'
        f'    certificate_file: {certificates}/node.crt\n'
        f'    private_key_file: {certificates}/node.key\n'
        f'    client_ca_file: {certificates}/ca.crt\n')
    node = test.start('tls', [test.build / 'udpad', '-c', bootstrap, '--state', test.work / 'tls-d'])
    port = re.search(r':(\d+)', node.wait_for_log('listening on ')).group(1)
    ca = ('--ca', certificates / 'ca.crt')
    ours = ('--cert', certificates / 'operator.crt', '--key', certificates / 'operator.key')
    ctl = Ctl(test, f'127.0.0.1:{port}', *ca, *ours)
    out = ctl('apply', '-f', '-', stdin=greeting('hello', 'x'))
    check('  applied over TLS', 'applied' in out, out)
    out = ctl('get')
    check('  as whom the certificate names', re.search(r'hello +\S+ +operator ', out), out)
    some = ('conform', '--apply-to', f'127.0.0.1:{port}', '--run', '^delta/.*/initial-')
    out = ctl(*some, '-o', 'tap')
    check('  conforms over TLS', out.startswith('1..8\n') and 'not ok' not in out and
          'SKIP' not in out, out)
    Ctl(test, f'127.0.0.1:{port}', *ca)('get', status=3, err=f'127.0.0.1:{port}')
    Ctl(test, f'127.0.0.1:{port}', *ca)('conform', '--timeout', '1', status=3,
                                        err='no connection within 1 s')
    Ctl(test, f'127.0.0.1:{port}')('get', status=3, err='does it want TLS')
    Ctl(test, f'127.0.0.1:{port}', *ca, *ours, '--server-name', 'other.test')(
        'get', status=3, err='other.test')
    Ctl(test, f'127.0.0.1:{port}', '--ca', certificates / 'none.crt')(
        'get', status=2, err='none.crt')


def check_help(test):
    ctl = Ctl(test, '127.0.0.1:1')
    out = ctl('--help')
    for part in ('apply -f FILE', '--namespace', 'cluster', 'Exit status'):
        check(f'  --help has {part}', part in out, out)
    check('  in 80 columns', max(map(len, out.splitlines())) <= 80, out)
    out = ctl('help')
    verbs = re.findall(r'^  (\w+) ', out, re.MULTILINE)
    check('help is a page of verbs in groups', '\nLook:\n' in out and '\nChange:\n' in out and
          {'apply', 'get', 'conform', 'xds'} < set(verbs), out)
    for verb in verbs:
        own = ctl(verb, '--help')
        check(f'  {verb} --help is one screen', own.startswith(f'Usage: udpactl {verb}') and
              len(own.splitlines()) <= 24 and ctl('help', verb) == own, own)
        said = subprocess.run([str(part) for part in [*ctl.command, verb, '-o', 'none']],
                              capture_output=True, text=True, check=False).stderr
        check(f'  and {verb} is a verb', 'is no command' not in said, said)
    check('  a version', re.fullmatch(r'udpactl \d+\.\d+\.\d+\n', ctl('--version')))


def body(test):
    node, address = test.start_node()
    ctl = Ctl(test, address)
    if test.arguments.variant == 'each':
        check_help(test)
        check_closed_streams(test, ctl)
        check_default_namespace(test)
        check_second_node(test, address)
        check_goes_before(test)
        check_waiting_node(test)
        return
    check_apply(test, ctl)
    check_mistakes(test, ctl)
    check_files(test, ctl)
    check_get(ctl)
    check_xds(ctl)
    check_edit(ctl)
    check_printed_names(test, ctl)
    check_secret(test, ctl)
    table = check_watch(test, ctl)
    check_delete(test, ctl)
    check_status(ctl)
    check_status_is_new(test)
    check_wait(test)
    check_on_demand(test, address)
    check_origins(test, address)
    check_tls(test)
    check_no_answer(test, node)
    table.wait_for_log('(trying again)')
    check('watch goes on without the node', test.interrupt(table) == 0, table.text())


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--ca', type=pathlib.Path)
    sys.exit(main(PARSER, body, ('usual', 'each')))
