#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pure folders touch no socket, file, thread, clock or random number: their libraries need nothing
but each other (downwards), protobuf-c, a few functions of libc that compute, and, for certs, OpenSSL's
computations. Whatever else is undefined in them is a finding, so what is new must be allowed here."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import layers
import lint

PURE = ['base', 'model', 'metrics', 'wire', 'reports', 'store', 'fanout', 'events', 'session', 'certs', 'xds',
        'sinks', 'federation', 'etcd', 'replica']

LIBC = set('''
    memcpy memmove memset memcmp memchr memrchr memmem bcmp
    strlen strnlen strcmp strncmp strcasecmp strncasecmp strchr strrchr strstr strspn strcspn strpbrk
    strtol strtoll strtoul strtoull strtod qsort qsort_r bsearch snprintf vsnprintf
    __errno_location __assert_fail __stack_chk_fail abort _GLOBAL_OFFSET_TABLE_
'''.split())
# Hardened forms of the same, what sanitizers and coverage add, helpers of the compiler.
COMPILER = re.compile(
    r'__(?:memcpy|memmove|memset|snprintf|vsnprintf)_chk$|__isoc23_strto\w+$|__atomic_\w+$'
    r'|__(?:asan|ubsan|tsan|lsan|sanitizer|sancov|gcov|llvm)_|__(?:start|stop)___sanc')
PROTOBUF = re.compile(r'protobuf_c_')
XXHASH = re.compile(r'XXH(?:64|3_64bits|3_128bits)_?')
OPENSSL = re.compile(r'(?:EVP|X509V?3?|ASN1|BIO|PEM|OBJ|OPENSSL|CRYPTO|ERR|BN|EC|ECDSA|OSSL|'
                     r'GENERAL_NAMES?|AUTHORITY_KEYID|ISSUING_DIST_POINT|[di]2[di])_|[di]2[di]_')
# Of these, what reads files, the clock or random numbers, or writes somewhere.
OPENSSL_IMPURE = re.compile(
    r'BIO_(?:new_(?:file|fp|fd|socket|connect|accept|dgram)|s_(?:file|fd|socket|connect|accept))'
    r'|\w+_fp$|\w+_(?:load|set_default)_\w+|X509_load_|X509_LOOKUP_(?:file|hash_dir|store)'
    r'|X509_(?:gmtime_adj|cmp_current_time|time_adj\w*)|ASN1_TIME_(?:adj|diff)'
    r'|EVP_PKEY_(?:keygen|generate|Q_keygen|paramgen)|EVP_RAND_|OSSL_STORE_|BN_(?:priv_)?rand')

ALLOCATION = {'malloc', 'calloc', 'realloc', 'free'}
# (folder, object): what it may need besides, with the reason.
EXCEPTIONS = {
    ('base', 'alloc.c'): ALLOCATION,   # this is where memory comes from
    ('base', 'map.c'): ALLOCATION,     # unused inline functions of xxhash.h
}


def nm(arguments, archive):
    command = shutil.which('nm')
    if not command:
        raise lint.Skip('nm is not installed')
    return subprocess.run([command, '--format=posix', *arguments, str(archive)],
                          capture_output=True, text=True, check=True).stdout.splitlines()


def undefined(archive):
    """(object, symbol) of what each object of a library needs."""
    member = ''
    for line in nm(['-u'], archive):
        if line.endswith(':'):
            member = re.sub(r'^.*[/\[]', '', line).rstrip(']:')
            member = member[:-2] if member.endswith('.o') else member
        elif line:
            yield member, line.split()[0]


def defined(archive):
    return {line.split()[0] for line in nm(['--defined-only', '-g'], archive)
            if line and not line.endswith(':')}


def allowed(layer, member, symbol):
    if symbol in LIBC or COMPILER.match(symbol) or PROTOBUF.match(symbol) or \
            XXHASH.match(symbol):
        return True
    if layer == 'certs' and OPENSSL.match(symbol) and not OPENSSL_IMPURE.match(symbol):
        return True
    return symbol in EXCEPTIONS.get((layer, member), ())


def archives(build):
    """{name: path}, such as {'base': …/libudpa_base.a}."""
    return {path.name[len('libudpa_'):-len('.a')]: path for path in build.rglob('libudpa_*.a')}


def reachable(layer, found):
    """What the libraries define that this layer may use."""
    symbols = set()
    for other, archive in found.items():
        below = other in ('proto', 'own_descriptors') and layer not in ('base', 'model')
        if other in PURE and (other == layer or layers.STEP_OF[other] < layers.STEP_OF[layer]):
            below = True
        if below:
            symbols |= defined(archive)
    return symbols


def has_library(root, layer):
    folder = root / layer if layer in ('certs', 'federation') else root / 'src' / layer
    return (folder / 'meson.build').exists()


def check(root, arguments):
    found = archives(arguments.build)
    for layer in PURE:
        if layer not in found:
            if has_library(root, layer):
                yield f'{layer}: there is no libudpa_{layer}.a below {arguments.build}'
            continue
        own = reachable(layer, found)
        for member, symbol in sorted(set(undefined(found[layer]))):
            if symbol not in own and not allowed(layer, member, symbol):
                yield f'{layer}: {member} needs {symbol}'


OPTIONS = [('--build', {'type': pathlib.Path, 'help': 'build directory', 'default': pathlib.Path()})]


class Arguments:
    def __init__(self, build):
        self.build = build


def make_library(build, layer, text):
    (build / f'{layer}.c').write_text(text, encoding='utf-8')
    subprocess.run(['cc', '-w', '-O0', '-fno-builtin', '-c', f'{layer}.c', '-o', f'{layer}.c.o'],
                   cwd=build, check=True)
    subprocess.run(['ar', 'rcs', f'libudpa_{layer}.a', f'{layer}.c.o'], cwd=build, check=True)


def expect(libraries, *patterns):
    with lint.tree({'src/wire/meson.build': ''}) as root, tempfile.TemporaryDirectory() as name:
        build = pathlib.Path(name)
        for layer, text in libraries.items():
            make_library(build, layer, text)
        lint.expect(check(root, Arguments(build)), *patterns)


def self_test():
    if not shutil.which('cc') or not shutil.which('ar'):
        sys.exit('self-test: a compiler is needed')
    base, wire = 'int udpai_b(void) { return 0; }', 'int udpai_w(void) { return udpai_b(); }'
    expect({'base': base, 'wire': wire,
            'proto': 'int udpa__core__init(void) { return 0; }',
            'certs': 'int c(void) { return EVP_DigestVerify() + memcmp() + udpai_w(); }',
            'xds': 'int x(void) { return udpai_w() + udpai_x() + udpa__core__init() + '
                   'protobuf_c_message_unpack(); } int udpai_x(void) { return 1; }'})
    expect({'base': base}, 'there is no libudpa_wire.a')
    expect({'wire': wire}, 'wire.c needs udpai_b')
    expect({'base': 'int udpai_b(void) { return udpai_w(); }', 'wire': wire},
           'base.c needs udpai_w')
    expect({'base': base, 'wire': wire, 'loop': 'int udpai_now(void) { return 0; }',
            'codec': 'int udpai_json(void) { return 0; }',
            'xds': 'int x(void) { return udpai_now() + udpai_json() + X509_free(); }',
            'certs': 'int c(void) { return RAND_bytes() + BIO_new_file() + PEM_read_fp(); }'},
           'xds.c needs udpai_now', 'xds.c needs udpai_json', 'xds.c needs X509_free',
           'certs.c needs RAND_bytes', 'certs.c needs BIO_new_file', 'certs.c needs PEM_read_fp')
    impure = ('socket open read write fopen time clock_gettime gettimeofday pthread_create rand '
              'random getrandom uv_now grpc_init sqlite3_open malloc printf getenv').split()
    calls = ' + '.join(f'{name}()' for name in impure)
    expect({'base': base, 'wire': f'int w(void) {{ return {calls}; }}'},
           *[f'wire.c needs {name}$' for name in impure])


if __name__ == '__main__':
    lint.main(__doc__, check, self_test, OPTIONS)
