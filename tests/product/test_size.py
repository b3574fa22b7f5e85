#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/size, with few clients: each form has its table, of figures that can be, and --from makes the same one."""
import argparse
import json
import pathlib
import subprocess
import sys

from product import check, main, need_descriptors

SIZE = pathlib.Path(__file__).resolve().parents[1] / 'bench' / 'size'
PATIENCE_S = 120
FORMS = ('plain', 'tls-workers')


def size(*arguments):
    done = subprocess.run([str(part) for part in (SIZE, *arguments)], text=True, capture_output=True, check=False,
                          timeout=PATIENCE_S)
    check('it works', done.returncode == 0, done.stderr)
    return done.stdout


def body(test):
    need_descriptors(test)
    file = test.work / 'size.json'
    table = size('--build', test.build, '--clients', '5,20', '--clusters', 6, '--forms', ','.join(FORMS), '--rest', 2,
                 '--repeats', 1, '--json', file)
    runs = [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines()]
    check('each once', [(one['form'], one['clients']) for one in runs] == [(form, n) for n in (5, 20) for form in FORMS], runs)
    for run in runs:
        result, has_workers = run['result'], run['form'] == 'tls-workers'
        check(f'{run["form"]}: a file for each client', result['files'] > run['clients'] / 2 if has_workers else
              result['files'] > run['clients'], result)
        check('  and memory of each process', result['main_mb'] > 1 and (result['worker_mb'] > 1) == has_workers, result)
        check('  and processor time of each step', all(result[key] > 0 for key in (
            'connect_s', 'connect_cpu_s', 'change_ms', 'change_cpu_ms', 'rest_cpu_s')), result)
    check('a table of each form', 'Without TLS:' in table and 'With mutual TLS, 2 workers:' in table and
          table.count('\n| 5 | ') == table.count('\n| 20 | ') == 2, table)
    check('the same of the file', size('--from', file, '--build', test.build) == table)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
