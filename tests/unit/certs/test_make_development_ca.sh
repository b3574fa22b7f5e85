#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The script that makes certificates for development: test_make_development_ca.sh SCRIPT. TAP output.
set -u
make_ca=$1
command -v openssl >/dev/null || {
    echo '1..0 # SKIP the openssl command is not there'
    exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ca=$work/ca
n=0
failed=0

check() { # description command...; what it says is in $work/out for the next one
    n=$((n + 1))
    description=$1
    shift
    if "$@" >"$work/saying" 2>&1; then
        echo "ok $n - $description"
    else
        failed=1
        echo "not ok $n - $description"
        sed 's/^/# /' "$work/saying"
    fi
    mv "$work/saying" "$work/out"
}

refused() { # words command...
    words=$1
    shift
    if "$@" >"$work/refused" 2>&1; then
        echo "it was accepted"
        return 1
    fi
    grep -q -e "$words" "$work/refused" || {
        cat "$work/refused"
        return 1
    }
}

same() {
    [ "$1" = "$2" ] || {
        echo "'$1' is not '$2'"
        return 1
    }
}

text() { openssl x509 -in "$ca/$1.crt" -noout -text; }
has() { text "$1" | grep -q -F -e "$2"; }
has_not() { ! has "$@"; }
sum() { cksum <"$ca/$1"; }
mode() { stat -c %a "$ca/$1"; }

check 'an authority is made' "$make_ca" "$ca"
check 'it says what it is for' grep -q 'do not trust it in production' "$work/out"
check 'it is an authority' has ca 'CA:TRUE'
check 'its name says what it is for' has ca 'not for production'
check 'its curve is P-256' has ca prime256v1
check 'its key is for its owner' same "$(mode ca.key)" 600
check 'the directory is for its owner' same "$(stat -c %a "$ca")" 700
before=$(sum ca.crt)$(sum ca.key)
check 'asked for again' "$make_ca" "$ca"
check 'it is the same' same "$(sum ca.crt)$(sum ca.key)" "$before"

check 'a certificate is issued' "$make_ca" "$ca" edge --dns edge.test --dns '*.edge.test' \
    --uri spiffe://acme.test/edge --ip 10.0.0.7 --ip fd00::7 --days 30
check 'it is of the authority' openssl verify -CAfile "$ca/ca.crt" -purpose sslserver "$ca/edge.crt"
check 'also for clients' openssl verify -CAfile "$ca/ca.crt" -purpose sslclient "$ca/edge.crt"
check 'its key is its own' same "$(openssl x509 -in "$ca/edge.crt" -noout -pubkey)" \
    "$(openssl pkey -in "$ca/edge.key" -pubout)"
check 'its key is for its owner' same "$(mode edge.key)" 600
check 'common name' same "$(openssl x509 -in "$ca/edge.crt" -noout -subject -nameopt RFC2253)" \
    'subject=CN=edge'
for name in DNS:edge.test 'DNS:*.edge.test' URI:spiffe://acme.test/edge 'IP Address:10.0.0.7' \
    'IP Address:FD00:0:0:0:0:0:0:7' 'CA:FALSE'; do
    check "it has $name" has edge "$name"
done
check 'valid for 29 days' openssl x509 -in "$ca/edge.crt" -noout -checkend $((29 * 86400))
check 'not for 31' sh -c "! openssl x509 -in '$ca/edge.crt' -noout -checkend $((31 * 86400))"

before=$(sum edge.crt)$(sum edge.key)
check 'asked for again' "$make_ca" "$ca" edge --dns edge.test --dns '*.edge.test' \
    --uri spiffe://acme.test/edge --ip 10.0.0.7 --ip fd00::7 --days 30
check 'it is the same' same "$(sum edge.crt)$(sum edge.key)" "$before"
before=$(sum edge.key)
check 'other names are asked for' "$make_ca" "$ca" edge --dns other.test
check 'they are in' has edge DNS:other.test
check 'the old ones are not' has_not edge DNS:edge.test
check 'the key stays' same "$(sum edge.key)" "$before"
check 'another length is asked for' "$make_ca" "$ca" edge --dns other.test --days 2
check 'it is shorter' sh -c "! openssl x509 -in '$ca/edge.crt' -noout -checkend $((3 * 86400))"
check 'a broken certificate is replaced' sh -c \
    ": >'$ca/edge.crt' && '$make_ca' '$ca' edge --dns other.test --days 2"
check 'by a good one' openssl verify -CAfile "$ca/ca.crt" "$ca/edge.crt"

check 'a client is made' "$make_ca" "$ca" client --client-only --uri spiffe://acme.test/client
check 'it is a client' openssl verify -CAfile "$ca/ca.crt" -purpose sslclient "$ca/client.crt"
check 'it is no server' refused 'unsuitable certificate purpose' \
    openssl verify -CAfile "$ca/ca.crt" -purpose sslserver "$ca/client.crt"
check 'it has no host' has_not client DNS:
check 'a client without any name' "$make_ca" "$ca" bare --client-only
check 'has no alternative names' has_not bare 'Alternative Name'
check 'a server without names' "$make_ca" "$ca" server
check 'is for localhost' has server DNS:localhost
check 'is for loopback' has server 'IP Address:127.0.0.1'

check 'help is given' "$make_ca" --help
check 'it says what it is for' grep -q 'do not trust it in production' "$work/out"
check 'no directory' refused 'directory is missing' "$make_ca"
check 'unknown option' refused "unknown argument '--no'" "$make_ca" "$ca" x --no
check 'option without value' refused 'needs a value' "$make_ca" "$ca" x --dns
check 'a name that is a path' refused 'cannot have' "$make_ca" "$ca" ../x
check 'the name of the authority' refused 'cannot be the name' "$make_ca" "$ca" ca
check 'a name that hides' refused 'cannot be the name' "$make_ca" "$ca" .x
check 'a name that is too long' refused '64 characters' "$make_ca" "$ca" "$(printf %065d 0)"
check 'a DNS name that is more' refused 'DNS name' "$make_ca" "$ca" x --dns 'a,DNS:b'
check 'a URI that is more' refused 'URI' "$make_ca" "$ca" x --uri 'a
b'
check 'an address that is none' refused 'cannot issue' "$make_ca" "$ca" x --ip 999.1
check 'no days' refused 'must be 1 to' "$make_ca" "$ca" x --days 0
check 'an authority without its key' sh -c "mkdir '$work/half' && cp '$ca/ca.crt' '$work/half'"
check 'is refused' refused 'without its key' "$make_ca" "$work/half"
check 'nothing is left lying about' sh -c "! ls '$ca' | grep -e new -e csr -e log -e srl"

echo "1..$n"
exit $failed
