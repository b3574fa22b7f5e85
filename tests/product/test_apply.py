#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl apply --dry-run and --prune: the node reports what would be rejected, what would change and for how many
clients, and changes nothing; what the files lack is removed, of this publisher and in this namespace alone, within
bounds. With workers, the same by their streams."""
import argparse
import json
import re
import subprocess
import sys

from product import admin_page, check, main, wait_for

GOOD, REFUSED, MISTAKE, NO_CONNECTION = range(4)
STRING = 'google.protobuf.StringValue'
LIMIT = 8


def resource_of(name, value, more=''):
    return f'---\nname: {name}\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "{value}"\n{more}'


class Node:
    def __init__(self, test):
        self.test = test
        files, config = test.work / 'node-files', test.work / 'node.json'
        files.mkdir()
        (files / 'file.yaml').write_text(resource_of('com.acme/of-file', 'file'))
        workers = {'workers': 2} if test.arguments.variant == 'workers' else {}
        config.write_text(json.dumps({
            'node': {'id': 'edge'}, 'sockets': [{'address': '127.0.0.1:0'}],
            'limits': {'maxResourcesPerPublisher': LIMIT}, **workers}))
        self.process = test.start('node', [test.build / 'udpad', '-c', config, '--state', test.work / 'node-data',
                                           '--resources', files])
        wait_for('the whole banner', lambda: 'names without' in self.process.text() or
                 self.process.process.poll() is not None)
        self.address = re.search(r'listening on ([\d.:]+)', self.process.text())[1]
        self.admin = re.search(r'admin socket (unix:\S+)', self.process.text())[1]

    def run(self, *arguments, text=None):
        """(status, output, errors)"""
        done = subprocess.run([self.test.build / 'udpactl', '--server', self.address, *map(str, arguments)], text=True,
                              input=text, capture_output=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def names(self):
        return sorted(self.run('get', STRING, '-o', 'name')[1].split())

    def audited(self):
        _, text, _ = admin_page(self.process, '/audit')
        return text

    def counted(self):
        """What is counted of publications."""
        _, text, _ = admin_page(self.process, '/metrics')
        heads = ('udpa_updates_', 'udpa_signatures_', 'udpa_publications_denied', 'udpa_loops', 'udpa_store_committed_',
                 'udpa_store_transactions_')
        return [line for line in text.splitlines() if line.startswith(heads)]

    def value(self, name):
        shown = self.run('get', STRING, name, '-o', 'jsonpath={[0].resource.value}')[1].strip()
        return shown


def check_dry_run(test, node):
    first = resource_of('com.acme/same', 'a') + resource_of('com.acme/other', 'a') + resource_of('org.other/x', 'a')
    check('a node has something', node.run('apply', '-f', '-', text=first)[0] == GOOD)
    before, audited, counted, logged = node.names(), node.audited(), node.counted(), node.process.text()
    check('publications are counted', any(line.startswith('udpa_updates_accepted') for line in counted), counted)
    watch = test.start('watch', [test.build / 'udpactl', '--server', node.address, '--node-id', 'viewer', 'watch', STRING,
                                 '-n', 'com.acme'])
    watch.wait_for_log('com.acme/other')
    text = resource_of('com.acme/same', 'a') + resource_of('com.acme/other', 'b') + resource_of('com.acme/new', 'b') + \
        resource_of('com.acme/of-file', 'b') + resource_of('org.other/x', 'b')
    status, out, errors = node.run('apply', '--dry-run', '-f', '-', text=text)
    lines = [line.replace(STRING, 'T') for line in out.splitlines()]
    check('what would become of each is shown', lines[:5] == [
        'T com.acme/same would not change',
        'T com.acme/other would change; 1 client subscribes to it',
        'T com.acme/new would be added; 1 client subscribes to it',
        "T com.acme/of-file would be added, and be shadowed by the contribution of 'edge'",
        'T org.other/x would change; no client subscribes to it'], lines)
    check('  and in sum', lines[5:] == [
        'Nothing is changed: 2 would be added, 2 changed, 0 removed, 1 would not change, 0 would be rejected',
        'Up to 1 clients subscribe to one of them'], lines)
    check('  with the exit status that apply would have', status == REFUSED and errors == '', (status, errors))
    check('nothing has changed', node.names() == before and node.value('com.acme/other') == 'a', node.names())
    check('nothing is recorded', node.audited() == audited)
    check('nor counted', node.counted() == counted, (node.counted(), counted))
    check('nor logged', 'reject' not in node.process.text()[len(logged):], node.process.text()[len(logged):])
    check('no client was sent anything', 'new' not in watch.text() and 'changed' not in watch.text(), watch.text())
    test.interrupt(watch)

    status, out, errors = node.run('apply', '--dry-run', '-f', '-', text=resource_of('com.acme/same', 'a'))
    check('what would not change is good', status == GOOD and 'Up to 0 clients' in out, (status, out, errors))
    many = ''.join(resource_of(f'com.acme/n{i}', 'a') for i in range(LIMIT))
    status, out, errors = node.run('apply', '--dry-run', '-f', '-', text=many)
    check('limits are asked of the node', status == REFUSED and out.count('would be added') == LIMIT - 3 + 1 and
          errors.count('would be rejected: ') == 3 and 'limits.max_resources_per_publisher' in errors, (out, errors))
    node.run('freeze', 'org.other', '--because', 'incident 4711', '--admin', node.admin)
    status, out, errors = node.run('apply', '--dry-run', '-f', '-', text=resource_of('org.other/x', 'b'))
    check('so are freezes', status == REFUSED and 'would be rejected: ' in errors and 'incident 4711' in errors, errors)
    node.run('thaw', 'org.other', '--yes', '--admin', node.admin)
    check('still nothing has changed', node.names() == before and node.value('org.other/x') == 'a')


def check_prune(test, node):
    files = test.work / 'files'
    files.mkdir()

    def write(*names, name_space='com.acme', value='1'):
        (files / 'all.yaml').write_text(''.join(resource_of(f'{name_space}/{name}', value) for name in names))

    def prune(*more, node_id='shop', name_space='com.acme'):
        return node.run('apply', '-f', files, '--prune', '-n', name_space, '--node-id', node_id, *more)

    write('a', 'b', 'c', 'd')
    check('what is applied first lacks nothing', prune()[0] == GOOD)
    node.run('apply', '-f', '-', '--node-id', 'shop', text=resource_of('com.acme.sub/a', '1') + resource_of('org.other/a', '1'))
    before = node.names()

    write('a', 'b', 'c', value='2')
    status, out, _ = prune('--dry-run')
    check('a dry run shows what would go', status == GOOD and 'com.acme/d would be removed; no client' in out and
          '3 changed, 1 removed' in out and node.names() == before, out)
    status, out, errors = prune()
    check('what the files lack is removed', status == GOOD and
          f'{STRING} com.acme/d removed\n' in out and errors == '', (out, errors))
    check('  of this publisher and namespace alone', [name for name in before if name not in node.names()] ==
          [name for name in before if name.endswith('com.acme/d')], node.names())
    check('  after the rest was applied', node.value('com.acme/a') == '2' and out.index('com.acme/a applied') <
          out.index('com.acme/d removed'), out)
    check('  and it was listed before', out.startswith(f'{STRING} com.acme/d is not in the files, and will be removed\n'), out)

    before = node.names()
    write('a', value='3')
    status, out, errors = prune()
    check('more than half of it takes --yes', status == REFUSED and '2 of the 3 resources' in errors and '--yes' in errors and
          'com.acme/c would be removed' in out, (out, errors))
    check('  and nothing was applied, either', node.names() == before and node.value('com.acme/a') == '2')
    status, out, errors = prune('--yes')
    check('  then it goes', status == GOOD and node.value('com.acme/a') == '3' and out.count(' be removed\n') == out.count('/b removed\n') + out.count('/c removed\n') == 2, (out, errors))

    bank = resource_of('com.acme/of-bank', '1', 'origin_info: {authority: bank}\n')
    status, out, errors = node.run('apply', '-f', '-', '--node-id', 'shop', text=bank)
    check('a publisher may have what is of another authority', status == GOOD, errors)
    status, out, errors = prune('--yes')
    check('  which stays', status == GOOD and 'com.acme/of-bank' in str(node.names()) and
          f"of another authority, on behalf of which shop has published it: {STRING} 'com.acme/of-bank'" in errors,
          (out, errors))
    node.run('freeze', 'com.acme', '--because', 'incident 4711', '--admin', node.admin)
    before = node.names()
    write('new')
    status, out, errors = prune('--yes')
    check('what cannot be applied whole is not begun', status == REFUSED and 'would be rejected' in errors and
          node.names() == before, (out, errors))
    node.run('thaw', 'com.acme', '--yes', '--admin', node.admin)
    (files / 'all.yaml').write_text('')
    status, _, errors = prune('--yes')
    check('an empty directory removes nothing', status == MISTAKE and 'there are no resources' in errors, errors)
    write('x', name_space='org.other')
    status, _, errors = prune()
    check('files are of one namespace', status == MISTAKE and "lies outside the namespace 'com.acme'" in errors, errors)
    for what, arguments in (('a namespace', ('--node-id', 'shop')), ('a node id', ('-n', 'com.acme'))):
        status, _, errors = node.run('apply', '-f', files, '--prune', *arguments)
        check(f'{what} is not guessed', status == MISTAKE and '--prune needs' in errors, errors)
    check('at the end all is as it was', node.names() == before, node.names())


def body(test):
    node = Node(test)
    check_dry_run(test, node)
    check_prune(test, node)
    status, _, errors = node.run('--server', '127.0.0.1:1', 'apply', '--dry-run', '-f', '-', text=resource_of('a/b', 'c'))
    check('a node that is not there is an error', status == NO_CONNECTION, errors)
    check('the node ends well', test.interrupt(node.process) == 0, node.process.text())


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('', 'workers')))
