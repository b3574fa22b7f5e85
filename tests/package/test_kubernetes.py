#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests of docs/examples/kubernetes. run: their bootstrap files run, as a node and the cache beside Envoys,
which serves while the node is away and after a restart; pods have the time to drain, and probes ask pages that there
are. types: the manifests are decoded strictly by the types of Kubernetes and of the Prometheus operator."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import urllib.request

import roots
from product import SOURCE, check, main, need_descriptors, wait_for

EXAMPLES = SOURCE / 'docs' / 'examples' / 'kubernetes'
HERE = pathlib.Path(__file__).resolve().parent
CLUSTER = '''"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: in-kubernetes
connect_timeout: 1s
'''
DRAIN = {'drain_delay': 3, 'drain_time': 20} # the defaults, in seconds


def bootstrap_of(name):
    """What the ConfigMap has for udpad.yaml."""
    lines = re.search(r'^  udpad\.yaml: \|\n((?:    .*\n|\n)+)', (EXAMPLES / f'{name}.yaml').read_text(), re.M)[1]
    return re.sub(r'^    ', '', lines, flags=re.M)


def drain_seconds(bootstrap):
    found = dict(re.findall(r'^  (drain_\w+): (\d+)s$', bootstrap, re.M))
    return sum(int(found.get(name, default)) for name, default in DRAIN.items())


def check_pod(name):
    text = (EXAMPLES / f'{name}.yaml').read_text()
    grace = int(re.search(r'terminationGracePeriodSeconds: (\d+)', text)[1])
    needed = drain_seconds(bootstrap_of(name))
    check(f'{name}: a drain of {needed} s has the time that it takes, and 5 s more', grace >= needed + 5, grace)
    probes = re.findall(r'(\w+)Probe:\n\s+httpGet: \{path: (\S+), port: http\}', text)
    check(f'{name}: probes ask for life and readiness', sorted(probes) == [
        ('liveness', '/livez'), ('readiness', '/readyz'), ('startup', '/livez')], probes)


def start(test, name, replacements):
    """(process, address for gRPC, address for HTTP) of the bootstrap file, with paths and ports of this test."""
    text = bootstrap_of(name)
    data = test.work / f'{name}-data'
    for old, new in {'/etc/udpa/tls/tls': f'{test.work}/tls/{name}', '/etc/udpa/tls': f'{test.work}/tls',
                     '/etc/udpa/resources': f'{test.work}/resources', '/var/lib/udpa': str(data),
                     '0.0.0.0:18000': '127.0.0.1:0', '0.0.0.0:18080': '127.0.0.1:0', **replacements}.items():
        text = text.replace(old, new)
    text = re.sub(r'drain_(\w+): \d+s', r'drain_\1: 0s', text)
    file = test.work / f'{name}.yaml'
    file.write_text(text, encoding='utf-8')
    found = subprocess.run([test.build / 'udpad', '--check', '-c', file], text=True, capture_output=True, check=False)
    check(f'{name}: its bootstrap file has no error', found.returncode == 0 and not found.stderr, found)
    process = test.start(f'{name}-{len(test.processes)}', [test.build / 'udpad', '--node-id', name, '-c', file])
    process.wait_for_log('over REST')
    return process, *re.findall(r'listening on ([^\s,]+) ', process.text())


def get(test, address):
    """What a client with a certificate receives."""
    tls = test.work / 'tls'
    return subprocess.run([test.build / 'udpactl', '--server', address, '--ca', tls / 'ca.crt', '--cert',
                           tls / 'envoy.crt', '--key', tls / 'envoy.key', 'get', 'cluster', 'in-kubernetes'],
                          text=True, capture_output=True, check=False)


def read(address, path):
    with urllib.request.urlopen(f'http://{address}{path}', timeout=20) as answer:
        return answer.read().decode()


def check_run(test):
    need_descriptors(test)
    for name in ('node', 'cache', 'envoy'):
        subprocess.run([SOURCE / 'certs' / 'make-development-ca', test.work / 'tls', name, '--ip', '127.0.0.1'],
                       check=True, stdout=subprocess.DEVNULL)
    (test.work / 'resources').mkdir()
    (test.work / 'resources' / 'cluster.yaml').write_text(CLUSTER, encoding='utf-8')
    node, node_grpc, node_http = start(test, 'node', {})
    sources = {'udpad.udpa.svc:18000': node_grpc}
    cache, grpc, _ = start(test, 'cache', sources)
    wait_for('an Envoy receives through the cache what the node has', lambda: get(test, grpc).returncode == 0)
    check('Prometheus may read metrics', 'udpa_' in read(node_http, '/metrics'))
    test.interrupt(node)
    check('while the node is away, too', get(test, grpc).returncode == 0)
    test.interrupt(cache)
    cache, grpc, http = start(test, 'cache', sources)
    wait_for('and after a restart', lambda: get(test, grpc).returncode == 0)
    check('it lives', read(http, '/livez') == 'alive\n')
    test.interrupt(cache)


def check_types(test):
    go = subprocess.run([SOURCE / '.ci' / 'go'], text=True, capture_output=True, check=False)
    if go.returncode:
        roots.skip(f'there is no Go that is new enough: {go.stderr}')
    program = test.work / 'decode'
    for _ in range(2): # what is fetched for it may come the second time
        built = subprocess.run([go.stdout.strip(), 'build', '-p', '1', '-o', program, '.'],
                               cwd=HERE / 'go-kubernetes', text=True, capture_output=True, check=False,
                               env={**os.environ, 'GOTOOLCHAIN': 'local', 'GOFLAGS': '-mod=readonly'})
    if built.returncode:
        roots.skip(f'the types of Kubernetes cannot be had: {built.stderr[-600:]}')
    files = sorted(EXAMPLES.glob('*.yaml'))
    found = subprocess.run([program, *files], text=True, capture_output=True, check=False)
    check('the manifests have the fields that there are', found.returncode == 0, found.stderr)
    kinds = set(found.stdout.split())
    needed = {'apps/v1/Deployment', 'apps/v1/DaemonSet', 'policy/v1/PodDisruptionBudget',
              'monitoring.coreos.com/v1/PodMonitor'}
    check('all kinds are there', needed <= kinds, kinds)
    for old, new, words in (('replicas: 2', 'replica: 2', 'unknown field "replica"'),
                            ('name: tls, mountPath', 'name: tsl, mountPath', 'mounts volume tsl'),
                            ('kind: Deployment', 'kind: Deploymint', 'is not known')):
        bad = test.work / 'bad.yaml'
        bad.write_text((EXAMPLES / 'node.yaml').read_text().replace(old, new), encoding='utf-8')
        found = subprocess.run([program, bad], text=True, capture_output=True, check=False)
        check(f'"{new}" is an error', found.returncode and words in found.stderr, found)


def body(test):
    if test.arguments.variant == 'types':
        check_types(test)
        return
    for name in ('node', 'cache'):
        check_pod(name)
    check_run(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('run', 'types')))
