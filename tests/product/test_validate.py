#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validation as its users meet it: refused by a node in the receipt and in files, and found offline.

The types are those of the codec's tests, which have rules like Envoy's.
"""
import argparse
import pathlib
import sys

from product import check, main, wait_for
from test_udpactl import Ctl, field, response_with, resource_with

PLAIN = 'type.googleapis.com/codec.ruled.Plain'


def plain(name, port):
    return f'---\n"@type": {PLAIN}\nname: {name}\nport: {port}\n'


def holder(name, port):
    """A resource in which the mistake is packed."""
    return (f'---\nname: {name}\nresource:\n'
            '  "@type": type.googleapis.com/codec.ruled.Holder\n'
            f'  children: [{{}}, {{typed_config: {{"@type": {PLAIN}, name: x, port: {port}}}}}]\n')


PACKED = 'children[1].typed_config.port: must be at most 65535'


def binary(name, type_url, value):
    return response_with(resource_with(name, type_url, value))


def test_offline(test, ctl):
    files = test.work / 'offline'
    files.mkdir()
    (files / 'good.yaml').write_text(plain('a', 1) + holder('b', 2))
    shown = ctl('validate', files / 'good.yaml')
    check('good files are told to be', shown == '2 resources, no errors found\n', shown)
    (files / 'bad.yaml').write_text(plain('c', 70000) + holder('d', 70000))
    ctl('validate', files, status=2, err=f"bad.yaml:6: codec.ruled.Holder 'local/d': {PACKED}")
    ctl('validate', '-f', files, status=2,
        err="bad.yaml:2: codec.ruled.Plain 'local/c': port: must be at most 65535")
    (files / 'bad.yaml').unlink()
    (files / 'unknown.pb').write_bytes(binary('e', PLAIN, field(1, b'e') + field(7, b'x')))
    ctl('validate', files / 'unknown.pb', status=2,
        err='field number 7 is unknown to codec.ruled.Plain')
    (files / 'broken.pb').write_bytes(binary('f', PLAIN, b'\x0a\x05f'))
    ctl('validate', files / 'broken.pb', status=2,
        err='its bytes are no valid codec.ruled.Plain')
    (files / 'type.pb').write_bytes(binary('g', 'x/no.Such', b''))
    ctl('validate', files / 'type.pb', status=2, err='its type has no descriptors here')
    ctl('validate', status=2, err='validate takes files')
    ctl('get', '--validate', status=2, err='--validate: get publishes nothing')


def test_node(test, descriptors):
    resources = test.work / 'resources'
    resources.mkdir()
    (resources / 'mine.yaml').write_text(plain('file', 1))
    config = test.work / 'node.yaml'
    config.write_text(f'descriptor_sets: ["{descriptors}"]\n'
                      'validation:\n'
                      '  checks: [RULES]\n'
                      '  refuse_unknown_types: true\n'
                      '  types: [{types: [codec.ruled.Numbers]}]\n')
    node, address = test.start_node('node', '-c', config, '--resources', resources)
    ctl = Ctl(test, address, '--descriptors', descriptors)
    ctl('apply', '-f', '-', stdin=plain('a', 1))
    ctl('apply', '-f', '-', stdin=plain('a', 70000) + plain('b', 2), status=1,
        err="codec.ruled.Plain local/a refused: 'local/a': port: must be at most 65535")
    check('the others are applied, and what was refused stays as it was',
          ctl('get', 'codec.ruled.Plain', 'a', '-o', 'json').count('"port": 1') == 1 and
          'local/b' in ctl('get', 'codec.ruled.Plain', '-o', 'name'))
    ctl('apply', '-f', '-', stdin=holder('c', 70000), status=1, err=PACKED)
    ctl('apply', '--validate', '-f', '-', stdin=plain('d', 1) + holder('c', 70000), status=2,
        err=f"stdin.yaml:6: codec.ruled.Holder 'local/c': {PACKED}")
    ctl('get', 'codec.ruled.Plain', 'd', status=1, err='d')
    ctl('apply', '-f', '-', stdin='---\nname: n\nresource:\n'
        '  "@type": x/codec.ruled.Numbers\n  below: 99\n')
    unknown = test.work / 'type.pb'
    unknown.write_bytes(binary('g', 'x/no.Such', b''))
    ctl('apply', '-f', unknown, status=1, err='its type has no descriptors here')
    test_files(node, ctl, resources)
    check('the node ends well', test.interrupt(node) == 0)


def test_files(node, ctl, resources):
    new = resources / '.new'
    new.write_text(plain('file', 70000))
    new.rename(resources / 'mine.yaml')
    node.wait_for_log("mine.yaml:2:1: 'local/file': port: must be at most 65535")
    check('what the file had stays',
          '"port": 1' in ctl('get', 'codec.ruled.Plain', 'file', '-o', 'json'))
    new.write_text(plain('file', 3))
    new.rename(resources / 'mine.yaml')
    wait_for('the mended file',
             lambda: '"port": 3' in ctl('get', 'codec.ruled.Plain', 'file', '-o', 'json'))


def test_all(test):
    descriptors = test.build / 'tests' / 'unit' / 'codec' / 'ruled.descriptors'
    test_offline(test, Ctl(test, '127.0.0.1:1', '--descriptors', descriptors))
    test_node(test, descriptors)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), test_all))
