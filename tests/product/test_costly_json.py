#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JSON that takes long to read: who says little does not wait behind it, nor do the node's files and what is
validated; what is too much is refused before it is read, memory is given back, and a node that ends does not wait
for what was not begun."""
import argparse
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import time

from product import check, main

N_LONG = 8
N_KEYS, N_KEYS_SANITIZED = 40000, 15000 # a sanitizer takes as long for the latter
TYPE = 'udpa.config.v1.ConfigSource'


def body(n_keys):
    return json.dumps({'node': {'id': 'x', 'metadata': {f'{i:x}': 1 for i in range(n_keys)}}},
                      separators=(',', ':')).encode()


def post(port, content):
    """Status, text, and how long it took."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=100)
    connection.request('POST', '/v3/discovery:clusters', content,
                       {'Content-Type': 'application/json'})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, time.monotonic() - begin


def rss_mib(process):
    with open(f'/proc/{process.process.pid}/status', encoding='ascii') as status:
        return int(re.search(r'VmRSS:\s+(\d+) kB', status.read()).group(1)) / 1024


def begin_long(port, results, n_keys):
    def one():
        try:
            results.append(post(port, body(n_keys)))
        except (OSError, http.client.HTTPException) as error:
            results.append((0, str(error), 0))
    threads = [threading.Thread(target=one) for _ in range(N_LONG)]
    for thread in threads:
        thread.start()
    return threads


def small_ones_go_first(port, n_keys):
    results, small = [], []
    begin = time.monotonic()
    threads = begin_long(port, results, n_keys)
    while any(thread.is_alive() for thread in threads):
        small.append(post(port, body(1)))
    whole = time.monotonic() - begin
    check(f'all {N_LONG} long ones are answered in {whole:.1f} s',
          [status for status, *_ in results] == [200] * N_LONG, results)
    check('small ones are, too', {status for status, *_ in small} == {200}, small)
    slowest = max(seconds for *_, seconds in small)
    check(f'of {len(small)} small ones meanwhile the slowest took {slowest:.3f} s',
          slowest < whole / 4 and slowest < 1)


def source(name, number):
    return (f'---\nname: {name}\nresource:\n  "@type": type.googleapis.com/{TYPE}\n'
            f'  udpa: {{address: "127.0.0.1:{number}"}}\n')


def files_and_validation_go_on(test, port, address, watch, n_keys):
    """A file that changes comes to a client, and what is published is validated and receipted."""
    results, seconds = [], {'file': [], 'publication': []}
    begin = time.monotonic()
    threads = begin_long(port, results, n_keys)
    number = 1000
    while any(thread.is_alive() for thread in threads):
        number += 1
        began = time.monotonic()
        (test.work / 'new.yaml').write_text(source('file', number), encoding='utf-8')
        (test.work / 'new.yaml').rename(test.work / 'files' / 'source.yaml')
        watch.wait_for_log(f'127.0.0.1:{number}')
        seconds['file'].append(time.monotonic() - began)
        began = time.monotonic()
        subprocess.run([test.build / 'udpactl', '--server', address, 'apply', '-f', '-'], check=True,
                       input=source('published', number), text=True, stdout=subprocess.DEVNULL, timeout=60)
        seconds['publication'].append(time.monotonic() - began)
    whole = time.monotonic() - begin
    for what, each in seconds.items():
        check(f'in {whole:.1f} s of long ones {len(each)} times a {what}, the slowest in {max(each):.3f} s',
              max(each) < whole / 2)


def too_much_is_refused(port):
    status, text, seconds = post(port, body(300000))
    check(f'300000 keys are refused in {seconds:.2f} s: {text.strip()}',
          status == 400 and 'more than 250000 values' in text and seconds < 2)
    status, text, _ = post(port, b'{"node": ["' + b'\\"[{,:' * 100000 + b'"]}')
    check('what stands in a string is no value', status == 400 and 'values' not in text, text)


def body_of(test):
    (test.work / 'files').mkdir()
    (test.work / 'files' / 'source.yaml').write_text(source('file', 1000), encoding='utf-8')
    config = test.work / 'node.yaml'
    config.write_text(f'validation:\n  checks: [RULES]\n  types: [{{types: [{TYPE}]}}]\n', encoding='utf-8')
    node, address = test.start_node('node', '-c', config, '--http', '127.0.0.1:0', '--resources', test.work / 'files')
    line = node.wait_for_log('over REST')
    port = int(re.search(r'listening on \S+:(\d+)', line).group(1))
    watch = test.start('watch', [test.build / 'udpactl', '--server', address, 'watch', TYPE, '-o', 'json'])
    watch.wait_for_log('127.0.0.1:1000')
    n_keys = N_KEYS_SANITIZED if test.arguments.sanitized else N_KEYS
    post(port, body(n_keys))
    before = rss_mib(node)
    small_ones_go_first(port, n_keys)
    files_and_validation_go_on(test, port, address, watch, n_keys)
    too_much_is_refused(port)
    after = rss_mib(node)
    if not test.arguments.sanitized: # a sanitizer keeps what was freed for a while
        check(f'memory is given back: {before:.0f} MiB before, {after:.0f} after', after < before + 30)
    results = []
    threads = begin_long(port, results, n_keys)
    time.sleep(0.2)
    begin = time.monotonic()
    node.process.send_signal(signal.SIGINT)
    node.process.wait(60)
    seconds = time.monotonic() - begin
    for thread in threads:
        thread.join()
    check(f'the node ends in {seconds:.1f} s', node.process.returncode == 0 and seconds < 10)
    check('and says so to those whom it has not read',
          any(status == 503 and 'shutting down' in text for status, text, _ in results), results)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--sanitized', action='store_true', help='the programs have sanitizers')
    sys.exit(main(parser, body_of))
