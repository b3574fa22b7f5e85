#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The health of a node as load balancers and supervisors see it: what does not turn is named, a node without a
source is ready once the source has had its time, and is degraded then; grpc.health.v1 answers the same."""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import sys
import urllib.error
import urllib.request

from product import check, main, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'interop'))

from raw_grpc import Call  # noqa: E402

SERVING, NOT_SERVING = b'\x08\x01', b'\x08\x02' # HealthCheckResponse.status
CLUSTER = 'envoy.config.cluster.v3.Cluster'
PATIENCE_S = 30


def read(address, path):
    """(status, text)"""
    try:
        with urllib.request.urlopen(f'http://{address}{path}', timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def ask_grpc(address):
    """What grpc.health.v1 answers about the whole node."""
    with Call(address, '/grpc.health.v1.Health/Check') as call:
        call.say(b'')
        call.hear()
        return next(call.messages(call.STREAM))


def start(test, name, **more):
    """(process, address for gRPC, address for HTTP)"""
    whole = {'node': {'id': name}, 'store': {'in_memory': True}, 'sockets': [{'address': '127.0.0.1:0'}],
             'http': {'sockets': [{'address': '127.0.0.1:0'}]}, **more}
    file = test.work / f'{name}.json'
    file.write_text(json.dumps(whole), encoding='utf-8')
    process = test.start(name, [test.build / 'udpad', '-c', file])
    process.wait_for_log('over REST')
    grpc, http = re.findall(r'listening on ([^\s,]+) ', process.text())
    return process, grpc, http


def children_of(pid):
    return [int(child) for child in
            pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii').split()]


@contextlib.contextmanager
def worker_that_hangs(test):
    """Until it is reported, which takes ten seconds; meanwhile the body looks at other nodes."""
    node, _, http = start(test, 'workers', workers=2)
    check('a node that turns is alive', read(http, '/livez') == (200, 'alive\n'), read(http, '/livez'))
    wait_for('and ready', lambda: read(http, '/readyz') == (200, 'ready\n'))
    second = max(children_of(node.process.pid)) # they are started in order
    os.kill(second, signal.SIGSTOP)
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as aside:
            first = aside.submit(wait_for, 'a worker that hangs', lambda: next(
                (answer for answer in [read(http, '/livez')] if answer[0] != 200), None))
            yield
            status, text = first.result()
        check('a worker that hangs is named, and no other', status == 503 and
              re.fullmatch(r'worker \d has not turned for 1\d s\n', text), text)
        check('a stopped worker makes the node no less ready', read(http, '/readyz')[0] == 200)
    finally:
        os.kill(second, signal.SIGCONT)
    wait_for('a worker that turns again', lambda: read(http, '/livez') == (200, 'alive\n'))
    test.interrupt(node)


def check_source(test):
    with socket.socket() as silent: # nobody answers: the port is the test's, and never listens
        silent.bind(('127.0.0.1', 0))
        address = f'127.0.0.1:{silent.getsockname()[1]}'
        node, grpc, http = start(
            test, 'source', timing={'sync_timeout': '4s', 'backoff_max': '0.5s'},
            static_resources={'config_sources': [{'name': 'core', 'udpa': {'address': address}}]},
            providers=[{'types': [CLUSTER], 'config_descriptors': [{'resource_name': 'core'}]}])
        before = read(http, '/readyz?verbose'), ask_grpc(grpc), read(http, '/readyz')
        check('a node that waits for a source is not ready',
              before[0][0] == 503 and 'synchronized: not ready: waiting for source core' in before[0][1], before)
        check('and grpc.health.v1 answers so', before[1] == NOT_SERVING, before)
        check('without ?verbose it gives no reasons', before[2] == (503, 'not ready: synchronized\n'), before)
        wait_for('a node that has waited is ready', lambda: read(http, '/readyz')[0] == 200)
        status, text = read(http, '/readyz?verbose')
        check('and degraded, with the source and the reason', status == 200 and
              re.search(r'^sources: degraded: source core: cannot connect', text, re.M) and
              text.endswith('degraded: sources\n'), text)
        wait_for('grpc.health.v1 follows', lambda: ask_grpc(grpc) == SERVING)
    core = test.start('core', [test.build / 'udpad', '--listen', address, '--node-id', 'core', '--state',
                               test.work / 'core-data'])
    wait_for('with the source it is ready', lambda: read(http, '/readyz') == (200, 'ready\n'))
    test.interrupt(core)
    wait_for('without it it is degraded', lambda: read(http, '/readyz') == (200, 'degraded: sources\n'))
    check('and serves', ask_grpc(grpc) == SERVING)
    test.interrupt(node)


def check_rules(test):
    """Probes have no certificate; reasons are for administrators."""
    node, _, http = start(test, 'rules', acl={'rules': [
        {'name': 'admins', 'identities': ['operator'], 'actions': ['ADMIN']}]})
    check('probes need no rule', read(http, '/livez')[0] == 200)
    wait_for('a node that is ready for strangers', lambda: read(http, '/readyz') == (200, 'ready\n'))
    check('reasons do', read(http, '/readyz?verbose')[0] == 403, read(http, '/readyz?verbose'))
    test.interrupt(node)


def check_configuration(test):
    node, _, http = start(test, 'configuration')
    file = test.work / 'configuration.json'
    good = file.read_text(encoding='utf-8')
    file.write_text('{"nod": 1}', encoding='utf-8')
    node.process.send_signal(signal.SIGHUP)
    wait_for('an invalid file degrades', lambda: read(http, '/readyz') == (200, 'degraded: configuration\n'))
    file.write_text(good, encoding='utf-8')
    node.process.send_signal(signal.SIGHUP)
    wait_for('a valid one does not', lambda: read(http, '/readyz') == (200, 'ready\n'))
    test.interrupt(node)


def body(test):
    with worker_that_hangs(test):
        check_source(test)
        check_rules(test)
        check_configuration(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
