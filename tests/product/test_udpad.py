#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpad as operators call it: --check finds what a start would trip over, and says where."""
import argparse
import pathlib
import shutil
import signal
import subprocess
import sys

from product import check, main, wait_for


def udpad(test, *arguments):
    """A call that must end by itself: its exit status, and what it said."""
    done = subprocess.run([str(part) for part in [test.build / 'udpad', *arguments]], text=True,
                          capture_output=True, check=False, cwd=test.work, timeout=60)
    return done.returncode, done.stdout + done.stderr


def issue(test, name, *options):
    """A certificate and its key in certificates/."""
    folder = test.work / 'certificates'
    subprocess.run([test.arguments.ca, folder, name, *options], check=True,
                   stdout=subprocess.DEVNULL)
    return folder / f'{name}.crt', folder / f'{name}.key', folder / 'ca.crt'


def socket_with(certificate, key, authorities):
    return ('sockets:\n- address: 127.0.0.1:0\n  tls:\n'
            f'    certificate_file: {certificate}\n'
            f'    private_key_file: {key}\n'
            f'    client_ca_file: {authorities}\n')


def bad_files(test):
    """Bootstrap files that nothing can be started with, and a part of what must be said."""
    certificate, key, ca = issue(test, 'node')
    _, other_key, _ = issue(test, 'other')
    none = test.work / 'none'
    weak_key = test.work / 'weak.key'
    weak_key.write_bytes(bytes(32))
    weak_key.chmod(0o644)
    yield 'no port', 'sockets: [{address: 127.0.0.1}]', ':1:21: sockets[0].address: '
    yield 'a port too high', 'sockets: [{address: "127.0.0.1:99999"}]', ':1:21: sockets[0].address'
    yield ('an address twice', 'sockets: [{address: "127.0.0.1:1"}, {address: "127.0.0.1:1"}]',
           ':1:47: sockets[1].address: ')
    yield ('a certificate that is not there', socket_with(none, key, ca),
           ':4:23: sockets[0].tls.certificate_file: ')
    yield ('a key of another certificate', socket_with(certificate, other_key, ca),
           ':4:23: sockets[0].tls.certificate_file: ')
    no_key = test.work / 'no.key'
    no_key.touch(0o600)
    yield ('a key that is none', socket_with(certificate, no_key, ca),
           ':5:23: sockets[0].tls.private_key_file: ')
    yield ('authorities that are none', socket_with(certificate, key, certificate),
           ':6:21: sockets[0].tls.client_ca_file: ')
    yield ('a revocation list that is none',
           socket_with(certificate, key, ca) + f'    crl_file: {ca}\n',
           ':7:15: sockets[0].tls.crl_file: ')
    yield 'no descriptor set', f'descriptor_sets: [{none}]', ':1:19: descriptor_sets[0]: '
    yield 'no key file', f'store: {{keys: [{{file: {none}}}]}}', ':1:23: store.keys[0].file: '
    yield 'a key file for all to read', f'store: {{keys: [{{file: {weak_key}}}]}}', 'has mode 0644'
    replica = 'store: {engine: ETCD, endpoints: ["127.0.0.1:9"], user: udpa, password_file: '
    yield 'no password file', f'{replica}{none}}}', ':1:78: store.password_file: '
    yield 'a password for all to read', f'{replica}{weak_key}}}', 'has mode 0644'
    yield ('authorities of etcd that are none',
           f'store: {{engine: ETCD, endpoints: ["127.0.0.1:9"], tls: {{ca_file: {certificate}}}}}',
           ':1:66: store.tls.ca_file: ')
    yield ('a standby of a replica', 'static_resources: {config_sources: [{name: a, udpa: '
           '{address: "127.0.0.1:9"}, recover: {types: [a.B]}}]}\n'
           'store: {engine: ETCD, endpoints: ["127.0.0.1:9"]}',
           ':1:88: static_resources.config_sources[0].recover: ')
    yield ('no directory', f'static_resources: {{directories: [{{path: {none}}}]}}',
           ':1:41: static_resources.directories[0].path: ')
    yield 'a file for data', f'store: {{directory: {weak_key}}}', ':1:20: store.directory: '


def check_same_as_start(test):
    """What --check finds a start refuses, in the same words."""
    bootstrap = test.work / 'bad.yaml'
    for what, text, part in bad_files(test):
        bootstrap.write_text(text + '\n')
        status, said = udpad(test, '--check', '-c', bootstrap)
        check(f'--check: {what}: {said.strip()}', status == 2 and part in said and
              said.startswith(f'{bootstrap}:') and said.count('\n') == 1,
              f'{status}: {said}')
        started = udpad(test, '-c', bootstrap)
        check('  and a start says the same', started == (status, said), started)


def check_good(test):
    """What --check finds good a start takes."""
    bootstrap = test.work / 'good.yaml'
    bootstrap.write_text(socket_with(*issue(test, 'node')) + f'store: {{directory: {test.work}/d}}')
    status, said = udpad(test, '--check', '-c', bootstrap)
    check('a good file', status == 0 and said == f'{bootstrap}: no errors found\n', said)
    check('--check makes nothing', not (test.work / 'd').exists())
    node = test.start('good', [test.build / 'udpad', '-c', bootstrap])
    node.wait_for_log('listening on ')
    check('and it starts, and ends', test.interrupt(node) == 0, node.text())
    status, said = udpad(test, '--check', '-c', bootstrap, '--node-id', '')
    check('an empty option is not its default', status == 2 and '--node-id' in said, said)


def check_replica(test):
    """All that a replica on etcd can have."""
    bootstrap, password = test.work / 'replica.yaml', test.work / 'etcd.password'
    certificate, key, ca = issue(test, 'node')
    password.write_text('sesame\n')
    password.chmod(0o600)
    bootstrap.write_text(f'store:\n  directory: {test.work}/replica\n  engine: ETCD\n'
                         '  endpoints: ["etcd-1.example:2379", "127.0.0.1:9", "[::1]:9"]\n'
                         f'  tls: {{ca_file: {ca}, certificate_file: {certificate},\n'
                         f'        private_key_file: {key}, server_name: etcd.example}}\n'
                         f'  user: udpa\n  password_file: {password}\n  prefix: /udpa/eu-west\n')
    status, said = udpad(test, '--check', '-c', bootstrap)
    check('a replica on etcd', status == 0 and said == f'{bootstrap}: no errors found\n', said)


def check_reload(test):
    """SIGHUP: the log says what was reloaded, and no more."""
    plain, _ = test.start_node('plain')
    plain.process.send_signal(signal.SIGHUP)
    line = plain.wait_for_log('SIGHUP: ')
    check('without certificates nothing is reloaded', 'no socket or source has certificates' in line, line)
    certificate, key, ca = issue(test, 'changing')
    bootstrap = test.work / 'changing.yaml'
    bootstrap.write_text(socket_with(certificate, key, ca) +
                         socket_with(*issue(test, 'node')).removeprefix('sockets:\n') +
                         'store: {in_memory: true}\n')
    node = test.start('changing', [test.build / 'udpad', '-c', bootstrap])
    node.wait_for_log('listening on ')
    certificate.write_text('none')
    node.process.send_signal(signal.SIGHUP)
    line = node.wait_for_log('reloaded: ')
    check('a bad certificate is not reloaded',
          line.endswith('certificates of 1 of 2 sockets and sources'), line)
    check('both end', test.interrupt(plain) == 0 and test.interrupt(node) == 0, node.text())


def check_missing_directory(test):
    status, said = udpad(test, '--resources', test.work / 'none')
    check('a directory that is not there is told once', status == 2 and
          said == f'udpad: --resources: {test.work}/none: cannot be read: No such file or '
          'directory\n', said)


def check_closed_streams(test):
    """Without a standard stream it serves, and ends as ever; its log goes into no other file."""
    for closed in ('>&-', '2>&-', '<&- >&- 2>&-'):
        data = test.work / 'closed-data'
        node = test.start('closed', ['sh', '-c', 'exec "$0" --listen 127.0.0.1:0 --state "$1" '
                                     f'--log-level debug {closed}', test.build / 'udpad', data])
        wait_for('the data', lambda: list(data.glob('udpa.db'))) # signals are heard
        status = test.interrupt(node)
        check(f'udpad {closed} ends', status == 0, f'{status}: {node.text()}')
        check('  and its data are no log', all(b'shutting down' not in path.read_bytes()
                                               for path in data.glob('*')))
        shutil.rmtree(data)


def body(test):
    check_same_as_start(test)
    check_good(test)
    check_replica(test)
    check_missing_directory(test)
    check_reload(test)
    check_closed_streams(test)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--ca', type=pathlib.Path)
    sys.exit(main(PARSER, body))
