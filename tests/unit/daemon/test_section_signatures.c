/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'signatures': what is wrong with it, and what comes of it. */
#include "daemon/bootstrap_check.h"
#include "daemon/plan_internal.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/daemon/bootstrap_test.h"

static void
read_text(bootstrap_test *test, const char *text)
{
    bootstrap_test_read(test, text);
    assert_ok(test->err);
}

static void
everything_that_is_needed_is_asked_for(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "acl: {rules: [{name: a, identities: ['*'], actions: [PUBLISH]}]}\n"
                    "signatures:\n"
                    "  keys: [{}]\n"
                    "  trusted: [{}]\n"
                    "  required: [{namespaces: [''], types: [''], authorities: ['']}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:10: signatures.keys[0].key_id: is required\n"
              "test.yaml:3:10: signatures.keys[0].private_key_file: is required\n"
              "test.yaml:4:13: signatures.trusted[0].authority: is required\n"
              "test.yaml:4:13: signatures.trusted[0].key_id: is required\n"
              "test.yaml:4:13: signatures.trusted[0].public_key_file: is required\n"
              "test.yaml:5:28: signatures.required[0].namespaces[0]: is empty: leave 'namespaces' "
              "out if all are meant\n"
              "test.yaml:5:41: signatures.required[0].types[0]: is empty\n"
              "test.yaml:5:60: signatures.required[0].authorities[0]: is empty\n");
}

static void
keys_have_names_of_their_own(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "node: {id: n, authority: acme}\n"
                    "signatures:\n"
                    "  keys:\n"
                    "    - {key_id: k, private_key_file: a}\n"
                    "    - {key_id: k, private_key_file: b, authority: bank}\n"
                    "    - {key_id: k, private_key_file: c, authority: acme}\n"
                    "  trusted:\n"
                    "    - {authority: x, key_id: k, public_key_file: a}\n"
                    "    - {authority: y, key_id: k, public_key_file: a}\n"
                    "    - {authority: x, key_id: k, public_key_file: b}\n");
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:4:5: signatures.keys: without a section 'acl' every peer may "
              "publish in the name of any authority, and what it publishes is signed\n"
              "test.yaml:6:7: signatures.keys[2]: signatures.keys[0] has the same authority and "
              "key_id, 'k'\n"
              "test.yaml:10:7: signatures.trusted[2]: signatures.trusted[0] has the same authority "
              "and key_id, 'k'\n");
}

static void
requirements_can_be_met(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "signatures:\n"
                    "  trusted: [{authority: acme, key_id: k, public_key_file: a}]\n"
                    "  required:\n"
                    "    - {namespaces: [com.Acme], authorities: [acme, 'ac*', acne]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:4:21: signatures.required[0].namespaces[0]: namespace 'com.Acme' must be "
              "labels of a-z, 0-9 and '-' with dots between, such as com.acme\n"
              "test.yaml:4:59: signatures.required[0].authorities[2]: no key in "
              "signatures.trusted is of authority 'acne'; did you mean 'acme'?\n");
}

static void
authorities_that_have_keys_are_listed(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "node: {id: n, authority: own}\n"
                    "acl: {rules: [{name: a, identities: ['*'], actions: [PUBLISH]}]}\n"
                    "signatures:\n"
                    "  keys: [{key_id: k, private_key_file: a}]\n"
                    "  trusted:\n"
                    "    - {authority: acme, key_id: k, public_key_file: a}\n"
                    "    - {authority: acme, key_id: l, public_key_file: b}\n"
                    "  required: [{authorities: [upstream]}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:8:29: signatures.required[0].authorities[0]: no key in "
              "signatures.trusted is of authority 'upstream'; there are 'acme' and 'own'\n");
}

static void
a_requirement_without_any_key_is_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "signatures: {required: [{namespaces: [com.acme]}]}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:25: signatures.required[0]: asks for signatures, and there is no key to "
              "verify them with: nothing would be taken there; list keys in signatures.trusted\n");
}

static void
times_have_bounds(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "signatures:\n"
                    "  validity: 1s\n"
                    "  clock_skew: 301s\n"
                    "  trusted:\n"
                    "    - {authority: x, key_id: k, public_key_file: a,\n"
                    "       not_before: '2026-01-02T00:00:00Z',\n"
                    "       not_after: '2026-01-01T00:00:00Z'}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:13: signatures.validity: must be whole seconds from 2 s to 315360000 s\n"
              "test.yaml:3:15: signatures.clock_skew: must be whole seconds from 0 s to 300 s\n"
              "test.yaml:7:19: signatures.trusted[0].not_after: is not after not_before, so the "
              "key is never trusted\n");
}

static void
there_are_defaults(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "signatures: {}\n");
    assert_true(udpai_signatures_validity_s(test->bootstrap.message->signatures) == 24 * 3600);
    assert_true(udpai_signatures_skew_s(test->bootstrap.message->signatures) == 60);
}

static void
times_are_taken(void **state)
{
    bootstrap_test *test = *state;
    read_text(test, "signatures: {validity: 5s, clock_skew: 0s}\n");
    assert_true(udpai_signatures_validity_s(test->bootstrap.message->signatures) == 5);
    assert_true(udpai_signatures_skew_s(test->bootstrap.message->signatures) == 0);
    bootstrap_test_assert_mistakes(test, "");
}

/* ---- files ---- */

typedef struct key_files {
    char folder[32], private_key[64], public_key[64], other[64];
} key_files;

static void
write_files(key_files *files)
{
    strncpy(files->folder, "/tmp/udpa-keys-XXXXXX", sizeof(files->folder));
    assert_non_null(mkdtemp(files->folder));
    snprintf(files->private_key, sizeof(files->private_key), "%s/a.key", files->folder);
    snprintf(files->public_key, sizeof(files->public_key), "%s/a.pub", files->folder);
    snprintf(files->other, sizeof(files->other), "%s/b.key", files->folder);
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), *other = EVP_EC_gen("P-384");
    FILE *file = fopen(files->private_key, "w");
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    file = fopen(files->public_key, "w");
    assert_int_equal(PEM_write_PUBKEY(file, key), 1);
    fclose(file);
    file = fopen(files->other, "w");
    assert_int_equal(PEM_write_PrivateKey(file, other, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    assert_int_equal(chmod(files->private_key, 0600), 0);
    assert_int_equal(chmod(files->other, 0600), 0);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
}

static void
remove_files(const key_files *files)
{
    unlink(files->private_key);
    unlink(files->public_key);
    unlink(files->other);
    rmdir(files->folder);
}

static void
files_of_keys_are_read(void **state)
{
    bootstrap_test *test = *state;
    key_files files;
    char text[1000], expected[1000];
    write_files(&files);
    snprintf(text, sizeof(text),
             "acl: {rules: [{name: a, identities: ['*'], actions: [PUBLISH]}]}\n"
             "signatures:\n"
             "  keys:\n"
             "    - {key_id: a, private_key_file: %s}\n"
             "    - {key_id: b, private_key_file: %s}\n"
             "    - {key_id: c, private_key_file: /proc/no/c}\n"
             "  trusted:\n"
             "    - {authority: x, key_id: a, public_key_file: %s}\n"
             "    - {authority: x, key_id: b, public_key_file: %s}\n"
             "    - {authority: x, key_id: c, public_key_file: %s,\n"
             "       not_after: '2020-01-01T00:00:00Z'}\n",
             files.private_key, files.other, files.public_key, files.private_key, files.public_key);
    read_text(test, text);
    udpai_signatures_check_files(test->bootstrap.message, &test->diagnostics);
    snprintf(
        expected, sizeof(expected),
        "test.yaml:5:37: signatures.keys[1].private_key_file: %s: is a key of kind EC, and "
        "resources are signed with Ed25519 or ECDSA on P-256: make one with 'openssl genpkey "
        "-algorithm ed25519'\n"
        "test.yaml:6:37: signatures.keys[2].private_key_file: /proc/no/c: cannot be opened: No "
        "such file or directory\n"
        "test.yaml:9:50: signatures.trusted[1].public_key_file: %s: holds a private key, which "
        "only the signer should have: make the public one of it with 'openssl pkey -pubout'\n"
        "warning: test.yaml:10:50: signatures.trusted[2].public_key_file: %s: this key is not "
        "trusted any more: it has expired\n",
        files.other, files.private_key, files.public_key);
    bootstrap_test_assert_mistakes(test, expected);
    remove_files(&files);
}

static void
a_key_that_signs_is_the_one_that_is_trusted(void **state)
{
    bootstrap_test *test = *state;
    key_files ours, other;
    char text[1000];
    write_files(&ours);
    write_files(&other);
    snprintf(text, sizeof(text),
             "acl: {rules: [{name: a, identities: ['*'], actions: [PUBLISH]}]}\n"
             "node: {id: n, authority: acme}\n"
             "signatures:\n"
             "  keys:\n"
             "    - {key_id: a, private_key_file: %s}\n"
             "    - {key_id: b, private_key_file: %s}\n"
             "  trusted:\n"
             "    - {authority: acme, key_id: a, public_key_file: %s}\n"
             "    - {authority: acme, key_id: b, public_key_file: %s}\n"
             "    - {authority: bank, key_id: a, public_key_file: %s}\n",
             ours.private_key, ours.private_key, ours.public_key, other.public_key,
             other.public_key);
    read_text(test, text);
    udpai_signatures_check_files(test->bootstrap.message, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:6:7: signatures.keys[1]: signatures.trusted has another key of the same "
              "authority and key_id, 'b': give this one another key_id\n");
    remove_files(&ours);
    remove_files(&other);
}

static void
a_keyring_comes_of_it(void **state)
{
    bootstrap_test *test = *state;
    key_files files;
    char text[600];
    static udpai_plan plan;
    const udpai_options options = {.state = "/tmp"};
    write_files(&files);
    snprintf(text, sizeof(text),
             "node: {id: n, authority: acme}\n"
             "signatures:\n"
             "  keys: [{key_id: a, private_key_file: %s}]\n"
             "  trusted: [{authority: x, key_id: a, public_key_file: %s}]\n"
             "  validity: 60s\n",
             files.private_key, files.public_key);
    read_text(test, text);
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &options, NULL));
    const udpai_keyring *keyring = plan.settings.node.keyring;
    const udpai_named_key *signer = udpai_keyring_signer(keyring, UDPAI_STR("acme"));
    assert_true(signer && udpai_str_eq(signer->key_id, UDPAI_STR("a")));
    assert_null(udpai_keyring_signer(keyring, UDPAI_STR("x")));
    assert_int_equal(udpai_keyring_n_trusted(keyring), 2);
    assert_true(udpai_keyring_validity_s(keyring) == 60);
    udpai_plan_done(&plan);
    remove_files(&files);
}

#define check_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(everything_that_is_needed_is_asked_for),
        check_test(keys_have_names_of_their_own),
        check_test(requirements_can_be_met),
        check_test(authorities_that_have_keys_are_listed),
        check_test(a_requirement_without_any_key_is_a_mistake),
        check_test(times_have_bounds),
        check_test(there_are_defaults),
        check_test(times_are_taken),
        check_test(files_of_keys_are_read),
        check_test(a_key_that_signs_is_the_one_that_is_trusted),
        check_test(a_keyring_comes_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
