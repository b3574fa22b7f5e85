#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl explain: why a resource is served, or not, and whether a client has it; at a node with a directory, a
publisher and a source, and with clients that answer when they are told to."""
import json
import re
import sys

import interop
from interop import check, wait_for
from stage import replace_file
from test_udpactl_wait import Client
from udpactl import GOOD, REFUSED, Ctl, write_cluster


def explained(ctl, *arguments, status=GOOD):
    return json.loads(ctl('explain', 'cluster', *arguments, '-o', 'json', status=status))


def becauses(said):
    return {one['origin'].split(':', 1)[0]: (one['isEffective'], one['because']) for one in said['contributions']}


def start_node(test, core):
    folder = test.work / 'files'
    folder.mkdir()
    path = test.work / 'node.json'
    path.write_text(json.dumps({
        'static_resources': {'directories': [{'path': str(folder)}],
                             'config_sources': [{'name': 'core', 'udpa': {'address': core}}]},
        'providers': [{'config_descriptors': [{'resource_name': 'core'}]}],
        'acl': {'rules': [
            {'name': 'own', 'identities': ['*'], 'actions': ['SUBSCRIBE', 'ADMIN']},
            {'name': 'local', 'identities': ['*'], 'actions': ['PUBLISH'], 'namespaces': ['local'],
             'on_behalf_of': ['*']}]}}), encoding='utf-8')
    return interop.Node(test, 'node', bootstrap=path), folder


def check_contributions(test, at_core, ctl, folder):
    said = explained(ctl, 'web', status=REFUSED)
    check(f'no origin has it: {said["fact"]}', said['fact'] == 'is not served: no origin has it')
    at_core('apply', '-n', 'com.other', '-f', write_cluster(test, 'other.json', 'web', '1s'))
    said = wait_for('the rejection', lambda: (lambda now: now if 'rejected' in now['fact'] else None)(
        explained(ctl, '-n', 'com.other', 'web', status=REFUSED)))
    check(f'a source may not have it: {said["fact"]}',
          re.fullmatch(r'is not served: no origin has it; the node has rejected resources of core \(\d+\): its log '
                       'says which, and why', said['fact']))
    at_core('apply', '-f', write_cluster(test, 'core.json', 'web', '1s'))
    said = wait_for('the source', lambda: (lambda now: now if now['contributions'] else None)(
        json.loads(ctl.ask('explain', 'cluster', 'web', '-o', 'json'))))
    check(f'it comes by a source: {said["fact"]}', ', from source:core, which came by core' in said['fact'] and
          becauses(said) == {'source': (True, 'it is the only one')})
    ctl('apply', '-f', write_cluster(test, 'mine.json', 'web', '2s'))
    replace_file(folder / 'web.json', write_cluster(test, 'file.json', 'web', '3s').read_text())
    said = wait_for('all three', lambda: (lambda now: now if len(now['contributions']) == 3 else None)(
        explained(ctl, 'web')))
    reasons = becauses(said)
    check(f'the file is effective, and why: {reasons}',
          reasons['path'][0] and 'goes before' in reasons['path'][1] and
          all(not reasons[kind][0] and reasons[kind][1].startswith('another authority goes before it')
              for kind in ('publisher', 'source')))


def check_clients(test, ctl, node, folder):
    clients = [Client(node.address, 'one', False), Client(node.address, 'two', True)]
    responses = [client.take() for client in clients]
    check('it has not answered', explained(ctl, 'web', '--for', 'two')['clientFact'].startswith('no answer yet'))
    clients[0].answer(responses[0])
    clients[1].answer(responses[1], 'no such thing')
    said = wait_for('the rejection', lambda: (lambda now: now if 'rejected' in now['clientFact'] else None)(
        explained(ctl, 'web', '--for', 'two')))
    check(f'why it has rejected it: {said["clientFact"]}',
          said['clientFact'] == "rejected: no such thing; rule 'own' lets it see it")
    text = ctl('explain', 'cluster', 'web', '--for', 'one')
    check(f'the same as text: {text}', re.search(r'^client one has it; rule', text, re.M) and
          re.search(r'^path:\S+ .* effective +its origin goes before', text, re.M) and '1 of 2 have version' in text)
    said = explained(ctl, 'web', '--for', 'three')
    check(f'of a stranger: {said["clientFact"]}', said['clientFact'].startswith('does not subscribe to it; rule'))
    (folder / 'web.json').unlink()
    said = wait_for('the publisher', lambda: (lambda now: now if becauses(now)['publisher'][0] else None)(
        explained(ctl, 'web')))
    check('two are left', set(becauses(said)) == {'publisher', 'source'})
    for client in clients:
        client.close()


def check_groups(test):
    """A real session of each group: what the others have it does not see."""
    path = test.work / 'groups.json'
    path.write_text(json.dumps({'audiences': [
        {'name': 'shops', 'match': {'node_ids': ['shop-*']}, 'default_namespace': 'com.shop'},
        {'name': 'banks', 'default_namespace': 'com.bank'}]}), encoding='utf-8')
    node = interop.Node(test, 'groups', bootstrap=path)
    ctl = Ctl(test, node)
    ctl('apply', '-n', 'com.shop', '-f', write_cluster(test, 'shop.json', 'web', '1s'))
    ctl('apply', '-n', 'com.bank', '-f', write_cluster(test, 'bank.json', 'vault', '1s'))
    clients = [Client(node.address, 'shop-1', True), Client(node.address, 'bank-1', False)]
    for client in clients:
        client.answer(client.take())
    wait_for('its answer', lambda: explained(ctl, '-n', 'com.shop', 'web', '--for', 'shop-1')['clientFact'].startswith('has it'))
    text = ctl('explain', 'cluster', '-n', 'com.shop', 'web', '--for', 'shop-1')
    check(f'its group sees it: {text}', re.search("^client shop-1 has it; its client group 'shops' sees it; ", text, re.M))
    text = ctl('explain', 'cluster', '-n', 'com.shop', 'web', '--for', 'bank-1')
    check(f'that of the other does not: {text}', re.search(
        "^client bank-1 does not subscribe to it; its client group 'banks' does not see this namespace, but com.bank; ",
        text, re.M))
    said = explained(ctl, '-n', 'com.bank', 'vault', '--for', 'bank-1')
    check(f'as JSON: {said["clientGroup"]}', said['clientGroup'] == {
        'name': 'banks', 'namespaces': ['com.bank'], 'isVisible': True})
    for client in clients:
        client.close()
    node.stop()


def body(test):
    core = interop.Node(test, 'core')
    node, folder = start_node(test, core.address)
    ctl = Ctl(test, node)
    check_contributions(test, Ctl(test, core), ctl, folder)
    check_clients(test, ctl, node, folder)
    out, err = ctl.start('explain', 'cluster').communicate()
    check(f'what is missing is told: {err}', 'explain takes a type and a name' in err and not out)
    node.stop()
    core.stop()
    check_groups(test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
