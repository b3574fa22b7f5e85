#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""h2spec, a suite of tests of HTTP/2 (RFC 7540, RFC 7541), against the listener of udpad: it fails in the
cases of this list only, each for a reason.

Its requests are those of a browser, which gRPC answers before they are complete: it is built with requests
of gRPC instead. As it is, it asks for a page of a socket that serves more than gRPC."""
import json
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import interop

HERE = pathlib.Path(__file__).resolve().parent / 'go-h2spec'
MODULE = 'github.com/summerwind/h2spec'
PACKAGE = f'{MODULE}/cmd/h2spec'
CALL = '/grpc.health.v1.Health/Check'
PAGE = '/metrics'
PATIENCE_S = 200
N_CASES = 140 # at least
AGAIN = 5

NO_BODY = 'the response to a call without a message has no body, and h2spec waits for one'
NGHTTP2 = 'nghttp2 ignores it, as trailers of a stream that it has reset; its own server does the same'
LIKE_NGHTTPD = {
    ('http2/5.1.1', 'Sends stream identifier that is numerically smaller than previous'): NGHTTP2,
}
WITHOUT_ALPN = {
    ('http2/3.5', 'Sends invalid connection preface'):
        'what does not begin with PRI is HTTP/1.1 there, and gets a response 400 of that, which h2spec cannot read',
}
FAILURES = {
    **LIKE_NGHTTPD,
    ('generic/2', 'Sends a WINDOW_UPDATE frame on half-closed (remote) stream'): NO_BODY,
    ('generic/2', 'Sends a PRIORITY frame on half-closed (remote) stream'): NO_BODY,
    ('http2/5.1.2',
     'Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded'): NO_BODY,
}


def replace_once(text, old, new):
    interop.check(f'h2spec has {old}', text.count(old) == 1)
    return text.replace(old, new)


def is_of_page(test):
    return test.variant.startswith('page')


def has_tls(test):
    return test.variant.endswith('tls')


def h2spec_or_skip(test):
    """As it is; of that, which fetches it, a copy whose requests are of gRPC."""
    program = interop.go_program_or_skip(HERE, test.build / 'h2spec', PACKAGE)
    if is_of_page(test):
        return program
    found = subprocess.run([interop.go_or_skip(), 'list', '-m', '-f', '{{.Dir}}', MODULE], cwd=HERE,
                           text=True, capture_output=True, check=True).stdout.strip()
    folder = test.work / 'go'
    shutil.copytree(HERE, folder)
    shutil.copytree(found, folder / 'h2spec', copy_function=shutil.copyfile)
    for path in [folder / 'h2spec', *(folder / 'h2spec').rglob('*')]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / 'h2spec' / 'go.mod').write_text(f'module {MODULE}\n', encoding='utf-8')
    with open(folder / 'go.mod', 'a', encoding='utf-8') as file:
        file.write(f'\nreplace {MODULE} => ./h2spec\n')
    file = folder / 'h2spec' / 'spec' / 'util.go'
    text = replace_once(file.read_text(encoding='utf-8'), 'HeaderField(":method", "GET")',
                        'HeaderField(":method", "POST")')
    text = replace_once(text, 'HeaderField(":authority", authority),',
                        'HeaderField(":authority", authority), HeaderField("te", "trailers"),\n'
                        'HeaderField("content-type", "application/grpc"),')
    file.write_text(text, encoding='utf-8')
    return interop.go_program_or_skip(folder, test.work / 'h2spec', PACKAGE)


def start_node(test):
    socket = {'address': '127.0.0.1:0'}
    if is_of_page(test):
        socket['also_serves'] = ['PAGES']
    if has_tls(test):
        folder = test.issue('node')
        socket['tls'] = {'certificate_file': f'{folder}/node.crt', 'private_key_file': f'{folder}/node.key'}
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(json.dumps({'sockets': [socket], 'transport': 'OWN',
                                     'limits': {'max_streams_per_identity': 100}}), encoding='utf-8')
    return interop.Node(test, 'node', port=None, bootstrap=bootstrap)


def failures_of(report):
    """The cases that have failed, and what was there instead; and how many cases there are."""
    cases = list(xml.etree.ElementTree.parse(report).iter('testcase'))
    return {(case.get('package'), case.get('classname')): ' '.join((bad.text or '').split())
            for case in cases for bad in (*case.findall('error'), *case.findall('failure'))}, len(cases)


def run_h2spec(test, program, node, *sections):
    report = test.work / 'report.xml'
    options = ['--tls', '--insecure'] if has_tls(test) else []
    path = PAGE if is_of_page(test) else CALL
    done = subprocess.run([program, '--port', str(node.port), '--path', path, '--junit-report', report,
                           *options, *sections], text=True, capture_output=True, check=False,
                          timeout=PATIENCE_S)
    print(done.stdout.strip().splitlines()[-1])
    return failures_of(report)


def body(test):
    program = h2spec_or_skip(test)
    node = start_node(test)
    failures, n_cases = run_h2spec(test, program, node)
    interop.check(f'there are {n_cases} cases', n_cases >= N_CASES)
    known = {**LIKE_NGHTTPD, **({} if has_tls(test) else WITHOUT_ALPN)} if is_of_page(test) else FAILURES
    for case, why in known.items():
        print(f'{" ".join(case)}: {"failed: " + why if case in failures else "passed"}')
    others = {case: found for case, found in failures.items() if case not in known}
    for _ in range(AGAIN):
        if others: # a stream may be over before h2spec sends the frame that is wrong on an open one
            again, _ = run_h2spec(test, program, node, *{section for section, _ in others})
            others = {case: found for case, found in again.items() if case in others}
    interop.check(f'no other case has failed: {others}', not others)
    node.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('tcp', 'tls', 'page_tcp', 'page_tls')))
