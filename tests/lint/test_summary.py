#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What .ci/summary says of logs of meson: how long all took, whether that is too long, and what failed."""
import json
import pathlib
import subprocess
import sys
import tempfile

SUMMARY = pathlib.Path(__file__).resolve().parents[2] / '.ci' / 'summary'


def test(name, begin_s, duration_s, result='OK'):
    return {'name': name, 'starttime': 1000 + begin_s, 'duration': duration_s, 'result': result,
            'stdout': 'it broke\n'}


def summary(tests, *options):
    """(exit status, what is printed)"""
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / 'testlog.json'
        log.write_text(''.join(json.dumps(one) + '\n' for one in tests), encoding='utf-8')
        done = subprocess.run([sys.executable, SUMMARY, *options, log], capture_output=True, text=True,
                              check=False)
    return done.returncode, done.stdout + done.stderr


def expect(condition, shown):
    if not condition:
        sys.exit(f'failed: {shown}')


def main():
    side_by_side = [test('a', 0, 50), test('b', 10, 60), *(test(f'c{i}', 0, 1) for i in range(12))]
    status, said = summary(side_by_side, '--minutes', '2')
    expect(status == 0 and said == (
        'longest: b 60 s, a 50 s, ' + ', '.join(f'c{i} 1 s' for i in range(8)) +
        '\n14 tests took 1 min 10 s\n14 passed, 0 failed, 0 skipped\n'), said)
    status, said = summary(side_by_side, '--minutes', '1')
    expect(status == 0 and 'WARNING: THAT IS MORE THAN 1 MINUTES' in said, said)
    status, said = summary(side_by_side)
    expect(status == 0 and said == '14 passed, 0 failed, 0 skipped\n', said)
    status, said = summary([test('a', 0, 1), test('b', 0, 2, 'FAIL'), test('c', 0, 0, 'SKIP')])
    expect(status == 1 and said == 'failed: b (fail after 2 s)\n    it broke\n'
           '1 passed, 1 failed, 1 skipped\n', said)
    status, said = summary([], '--minutes', '8')
    expect(status == 1 and said == '0 passed, 0 failed, 0 skipped\n', said)


if __name__ == '__main__':
    main()
