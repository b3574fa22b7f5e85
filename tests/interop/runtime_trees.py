# SPDX-License-Identifier: Apache-2.0
"""Trees of runtime values, made by chance, and what the programs that read them say of them."""
import http.client
import json
import os

WORDS = ('health_check', 'min_interval', 'upstream', 'zone', 'a', 'b', 'with.dot', 'sp ace', 'ä',
         '.hidden', '_x', 'UPPER')
VALUES = ('5', '5\n', ' 5 \n\n', '\n\n  7', '# c\n5\n', '', '# nothing\n', '3.7', '-4', 'hello world\n',
          'one\ntwo\nthree\n', 'one\n\n# no\ntwo  \n', 'true', 'TRUE\n', '0', '1e3', '0x10', 'nan',
          '{"numerator": 5, "denominator": "MILLION"}\n', 'numerator: 5\ndenominator: TEN_THOUSAND\n',
          '18446744073709551616', '5\r\n', '#x\r\n6\r\n', '  # x\n6', '5 # five', '"5"', 'a: b',
          '[1, 2]', 'null', '~', 'h\u00e9\n', '\t5\t', '+5', '.5', 'x' * 5000, '999999',
          '1000000', '0.1234567', 'false')


def key_of(path):
    return '.'.join(path)


def make_files(chance, most):
    """Paths, no two of one key, and none that is a directory of another; with values."""
    files, taken = {}, set()
    for _ in range(chance.randrange(most)):
        path = tuple(chance.choice(WORDS) for _ in range(chance.randrange(1, 5)))
        is_free = key_of(path) not in taken and not any(
            other[:len(path)] == path or path[:len(other)] == other for other in files)
        if is_free:
            files[path] = chance.choice(VALUES)
            taken.add(key_of(path))
    return files


def write_layer(root, folder, chance, most=30):
    """Makes fewer files than that, for a layer; what links lead to is in root, in hidden files."""
    folder.mkdir(parents=True)
    for path, value in make_files(chance, most).items():
        file = folder.joinpath(*path)
        file.parent.mkdir(parents=True, exist_ok=True)
        if chance.random() < 0.1: # by a link
            target = root / '.targets' / str(len(os.listdir(root)) + chance.randrange(10**9))
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(value.encode())
            file.symlink_to(target)
        else:
            file.write_bytes(value.encode())


def swap(srv, version):
    (srv / 'new').symlink_to(version)
    os.replace(srv / 'new', srv / 'current')


def ask(port, path, method='GET'):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
    connection.request(method, path)
    text = connection.getresponse().read()
    connection.close()
    return text


def runtime(port):
    answer = json.loads(ask(port, '/runtime'))
    return answer['layers'], answer['entries']


def number_of(port):
    return runtime(port)[1].get('number', {}).get('final_value')
