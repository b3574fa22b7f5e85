#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpad as its operator meets it: what a receipt has confirmed survives a kill, mistakes are told
with what, where and what to do, and nothing that was accepted is lost by them.
"""
import signal
import ssl
import subprocess
import sys

from interop import Failure, Node, SOURCE, check, never, run, wait_for
from udpa_peer import Peer

from envoy.config.cluster.v3 import cluster_pb2

CLUSTER = 'envoy.config.cluster.v3.Cluster'


def start_wrongly(test, *arguments):
    """What udpad says when it cannot start, and with which status it ends."""
    done = subprocess.run([test.build / 'udpad', '--state', test.work / 'wrong', *arguments],
                          capture_output=True, text=True, timeout=20, check=False, cwd=test.work)
    return done.returncode, done.stderr


def clusters(test, node):
    with Peer(test.build, node.address, 'reader') as reader:
        schema = reader.schema
        message = reader.udpa_message()
        message.subscribe.type_url = f'type.googleapis.com/{CLUSTER}'
        message.subscribe.namespace = 'local'
        message.subscribe.resource_names.append('*')
        reader.outbox.put(message)
        found = {}
        while True:
            delta = reader.next_message('publish').publish.delta
            for resource in delta.resources:
                if resource.resource.type_url.endswith(CLUSTER):
                    found[resource.name] = (resource.version, resource.origin_info.authority)
            if delta.complete:
                return found


def survive_kills(test):
    node = Node(test, 'keeper')
    for turn in range(3):
        with Peer(test.build, node.address) as publisher:
            publisher.publish((f'c{turn}-{i}', cluster_pb2.Cluster(name=f'c{turn}-{i}'))
                              for i in range(20))
        node.kill()
        node = Node(test, 'keeper')
        found = clusters(test, node)
        check(f'{20 * (turn + 1)} confirmed resources are there after {turn + 1} kill(s)',
              len(found) == 20 * (turn + 1))
    before = found
    node.kill()
    node = Node(test, 'keeper')
    check('with the same versions and authorities', clusters(test, node) == before)
    with Peer(test.build, node.address) as publisher:
        publisher.remove(CLUSTER, ['c0-0'])
    node.kill()
    node = Node(test, 'keeper')
    check('a confirmed removal survives too', 'local/c0-0' not in clusters(test, node))
    return node


def tell_mistakes(test, node):
    status, text = start_wrongly(test, '--listen', node.address)
    check(f'a port in use is told: {text.strip()}',
          status == 1 and node.address in text and 'in use' in text)
    status, text = start_wrongly(test, '--resources', test.work / 'nowhere')
    check(f'a directory that is not there is told: {text.strip()}',
          status == 2 and 'nowhere' in text)
    typo = test.work / 'typo.yaml'
    typo.write_text('node:\n  idd: x\n', encoding='utf-8')
    status, text = start_wrongly(test, '-c', typo)
    check(f'a typo is told with its place: {text.strip()}',
          status == 2 and 'typo.yaml:2:3' in text and "'id'" in text)
    status, text = start_wrongly(test, '--no-such-option')
    check('an unknown option is told', status == 2 and 'no-such-option' in text)
    status, text = start_wrongly(test, '--listen', '0.0.0.0:0')
    check(f'exposure is refused: {text.strip()}', status == 2 and 'loopback' in text)


def refuse_other_key(test):
    certificates = test.work / 'certificates'
    for name in ('a', 'b'):
        subprocess.run([SOURCE / 'certs' / 'make-development-ca', certificates, name], check=True,
                       stdout=subprocess.DEVNULL)
    bootstrap = test.work / 'key.yaml'
    bootstrap.write_text('sockets:\n  - address: 127.0.0.1:0\n    tls:\n'
                         f'      certificate_file: {certificates}/a.crt\n'
                         f'      private_key_file: {certificates}/b.key\n', encoding='utf-8')
    status, text = start_wrongly(test, '-c', bootstrap)
    check(f'a key of another certificate is told: {text.strip()}',
          status == 2 and 'key.yaml:4:25: sockets[0].tls.certificate_file: ' in text and
          'a.crt' in text and 'b.key' in text)


def bear_bad_files(test):
    resources = test.work / 'resources'
    resources.mkdir()
    (resources / 'good.yaml').write_text(
        f'"@type": type.googleapis.com/{CLUSTER}\nname: good\n', encoding='utf-8')
    (resources / 'bad.yaml').write_text('{no: [yaml\n', encoding='utf-8')
    (resources / 'unknown.yaml').write_text('"@type": type.googleapis.com/no.such.Type\nname: x\n',
                                            encoding='utf-8')
    bootstrap = test.work / 'files.yaml'
    bootstrap.write_text(f'static_resources: {{directories: [{{path: {resources}}}]}}\n',
                         encoding='utf-8')
    node = Node(test, 'files', bootstrap=bootstrap)
    line = node.wait_for_log('bad.yaml:')
    check(f'a file that is no YAML is told: {line}', 'bad.yaml:2' in line or 'bad.yaml:1' in line)
    line = node.wait_for_log('no.such.Type')
    check(f'a type without descriptor is told, and what to do: {line}', 'descriptor' in line)
    with Peer(test.build, node.address, 'namer') as reader:
        message = reader.udpa_message()
        message.subscribe.type_url = f'type.googleapis.com/{CLUSTER}'
        message.subscribe.resource_names.append('local/good')
        reader.outbox.put(message)
        delta = reader.next_message('publish').publish.delta
        while not delta.resources or not delta.resources[0].resource.type_url.endswith(CLUSTER):
            delta = reader.next_message('publish').publish.delta
        check('the good file is served', delta.resources[0].name == 'local/good')
    (resources / '.new').write_text(f'"@type": type.googleapis.com/{CLUSTER}\nname: mended\n',
                                    encoding='utf-8')
    (resources / '.new').rename(resources / 'bad.yaml')
    (resources / 'unknown.yaml').unlink()
    found = wait_for('the mended file', lambda: 'local/mended' in (all_ := clusters(test, node)) and
                     all_)
    check('and the mended one, without a restart', set(found) == {'local/good', 'local/mended'})


def shown_certificate(node):
    return ssl.get_server_certificate(('127.0.0.1', node.port))


def problems_of(test, node, *options):
    done = subprocess.run([test.build / 'udpactl', '--server', node.address, *options, 'status'],
                          capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.partition('PROBLEMS\n')[2].split('\n\n')[0]


def replace(file, text):
    """Whole, as an editor does: nobody reads half of it."""
    new = file.with_suffix('.new')
    new.write_text(text, encoding='utf-8')
    new.rename(file)


def renew_certificates(test):
    folder = test.work / 'renewed'

    def issue(*names):
        subprocess.run([SOURCE / 'certs' / 'make-development-ca', folder, 'node', *names],
                       check=True, stdout=subprocess.DEVNULL)
        return (folder / 'node.crt').read_text(encoding='utf-8')

    first = issue()
    bootstrap = test.work / 'renewed.yaml'
    bootstrap.write_text('sockets:\n  - address: 127.0.0.1:0\n    tls:\n'
                         f'      certificate_file: {folder}/node.crt\n'
                         f'      private_key_file: {folder}/node.key\n', encoding='utf-8')
    node = Node(test, 'renewing', bootstrap=bootstrap, port=None)

    def problems(): # the authority stays the same
        return problems_of(test, node, '--ca', folder / 'ca.crt')
    check('the certificate is shown', shown_certificate(node).strip() in first)
    (folder / 'node.crt').write_text('none', encoding='utf-8')
    node.process.send_signal(signal.SIGHUP)
    line = node.wait_for_log('stay as they were')
    check(f'one that cannot be read is told: {line}', 'node.crt' in line)
    wait_for('it in the status', lambda: 'the certificates stay as they were' in problems())
    check('and the old one stays', shown_certificate(node).strip() in first)
    (folder / 'node.crt').unlink()
    second = issue('--dns', 'renewed.test', '--ip', '127.0.0.1')
    check('another one was issued', first != second)
    node.process.send_signal(signal.SIGHUP)
    line = node.wait_for_log('were read again')
    check('after SIGHUP the new one is shown', shown_certificate(node).strip() in second)
    wait_for('that nothing is wrong', lambda: not problems())


def tell_broken_bootstrap(test):
    """While a node runs: one error, with its place, in the log and in the status until it is fixed."""
    bootstrap = test.work / 'rules.yaml'
    good = ('sockets: [{address: "127.0.0.1:0"}]\n'
            'acl: {rules: [{name: all, identities: ["*"], actions: [SUBSCRIBE], namespaces: [local]}],\n'
            '      dry_run: true}\n')
    bootstrap.write_text(good, encoding='utf-8')
    node = Node(test, 'ruled', bootstrap=bootstrap, port=None)

    def problems():
        return problems_of(test, node)

    def errors():
        return [line for line in node.text().splitlines() if ' error ' in line]
    for broken, words in (('acl: {rules: [', 'rules.yaml:'),
                          (good + 'nodes: {id: x}\nsinc: 1\n', 'rules.yaml:4:')):
        before = len(errors())
        replace(bootstrap, broken)
        wait_for(f'the mistake in the status: {words}', lambda words=words: words in problems())
        said = problems()
        check(f'one problem: {said.strip()}', len(said.strip().splitlines()) == 1
              and 'the configuration stays as it was' in said and 'success' not in said)
        told = errors()[before:]
        check(f'one line in the log: {told}', len(told) == 1 and said.strip() in told[0])
        if words == 'rules.yaml:4:': # the log lies beside the file: it changes with each line
            never('a second line', lambda before=before: len(errors()) > before + 1, 1.5)
        replace(bootstrap, good)
        wait_for('no problem once it is fixed', lambda: not problems())


def tell_what_takes_a_restart(test):
    """What was changed and is not taken over is named, until it is as it was."""
    bootstrap = test.work / 'changed.yaml'
    good = ('sockets: [{address: "127.0.0.1:0"}]\n'
            'acl: {rules: [{name: all, identities: ["*"], actions: [SUBSCRIBE], namespaces: [local]}],\n'
            '      dry_run: true}\n')
    bootstrap.write_text(good, encoding='utf-8')
    node = Node(test, 'changing', bootstrap=bootstrap, port=None)
    replace(bootstrap, good.replace('local', 'other') + 'client_types: [acme.Report]\nnode: {cluster: other}\n')
    said = wait_for('what takes a restart', lambda: problems_of(test, node))
    check(f'it is named: {said.strip()}', len(said.strip().splitlines()) == 1 and
          'changed.yaml has changed, and it takes a restart until this is effective: ' in said and
          all(section in said.rsplit(': ', 1)[1] for section in ('node', 'client_types')))
    check('and logged', said.strip() in node.wait_for_log('it takes a restart'))
    check('the rules were taken over', node.wait_for_log('rules'))
    replace(bootstrap, good)
    wait_for('nothing is to be told', lambda: not problems_of(test, node))
    replace(bootstrap, good.partition('acl')[0])
    wait_for('rules do not go by a slip', lambda: 'until this is effective: acl' in problems_of(test, node))


def body(test):
    tell_broken_bootstrap(test)
    tell_what_takes_a_restart(test)
    node = survive_kills(test)
    tell_mistakes(test, node)
    refuse_other_key(test)
    bear_bad_files(test)
    renew_certificates(test)


if __name__ == '__main__':
    try:
        sys.exit(run(__doc__, body))
    except Failure as failure:
        sys.exit(str(failure))
