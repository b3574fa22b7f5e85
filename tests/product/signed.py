# SPDX-License-Identifier: Apache-2.0
"""The bytes that signatures of resources sign, made anew from the words of docs/design/trust.md, and
the openssl command, which signs and verifies them. Nothing of ours is used."""
import hashlib
import subprocess

ED25519, ECDSA_P256_SHA256 = 1, 2


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return len(data).to_bytes(4, 'big') + data


def integer(number):
    return number.to_bytes(8, 'big', signed=number < 0)


def signed_bytes(authority, type_url, name, version, generation, value, not_before, not_after,
                 aliases=(), is_lazy=False, do_not_cache=False):
    """Of a resource that is neither a variant nor a redirect; times in seconds since 1970."""
    out = b'udpa-sig-v1' + string(authority) + string(type_url) + string(name) + string(version)
    out += integer(len(aliases)) + b''.join(string(alias) for alias in sorted(
        alias.encode() for alias in aliases))
    out += integer(int(is_lazy)) + integer(int(do_not_cache)) + integer(generation)
    return out + hashlib.sha256(value).digest() + integer(not_before) + integer(not_after)


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, check=False)


class Key:
    """A key of openssl's making, as docs/guide/signatures.md has it."""

    def __init__(self, folder, name, algorithm=ED25519):
        self.algorithm = algorithm
        self.folder = folder
        self.private = folder / f'{name}.key'
        self.public = folder / f'{name}.pub'
        kind = ['-algorithm', 'ed25519'] if algorithm == ED25519 else \
            ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']
        run('openssl', 'genpkey', *kind, '-out', self.private).check_returncode()
        run('openssl', 'pkey', '-in', self.private, '-pubout', '-out',
            self.public).check_returncode()
        self.private.chmod(0o600)

    def files(self, data, signature=b''):
        message, value = self.folder / 'message.bin', self.folder / 'signature.bin'
        message.write_bytes(data)
        value.write_bytes(signature)
        return message, value

    def sign(self, data):
        message, value = self.files(data)
        if self.algorithm == ED25519:
            done = run('openssl', 'pkeyutl', '-sign', '-inkey', self.private, '-rawin',
                       '-in', message, '-out', value)
        else:
            done = run('openssl', 'dgst', '-sha256', '-sign', self.private, '-out', value, message)
        done.check_returncode()
        return value.read_bytes()

    def verifies(self, data, signature):
        message, value = self.files(data, signature)
        if self.algorithm == ED25519:
            done = run('openssl', 'pkeyutl', '-verify', '-pubin', '-inkey', self.public, '-rawin',
                       '-in', message, '-sigfile', value)
        else:
            done = run('openssl', 'dgst', '-sha256', '-verify', self.public, '-signature', value,
                       message)
        return done.returncode == 0
