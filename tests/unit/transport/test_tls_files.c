/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a TLS socket: read whole, or refused by name. */
#include "transport/tls_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <udpa/log.h>

#include "tests/harness/oom.h"
#include "tests/unit/certs/made_crl.h"

/* A directory with a certificate, its key and an authority; the paths of all three. */
struct fixture {
    char directory[64], certificate[128], private_key[128], authorities[128];
    udpai_tls_paths paths;
    EVP_PKEY *key;
    udpai_strbuf certificate_pem, key_pem, authority_pem;
    unsigned n_warnings;
};

static void
write_file(const char *path, udpai_str text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.len ? text.data : "", text.len), text.len);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void
write_all(struct fixture *fixture)
{
    write_file(fixture->certificate, udpai_strbuf_view(&fixture->certificate_pem), 0644);
    write_file(fixture->private_key, udpai_strbuf_view(&fixture->key_pem), 0640);
    write_file(fixture->authorities, udpai_strbuf_view(&fixture->authority_pem), 0644);
}

static void
count_warning(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)message;
    assert_string_equal(component, "tls");
    ((struct fixture *)userdata)->n_warnings += level == UDPA_LOG_WARNING;
}

static int
set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/udpa-tls-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    snprintf(fixture->certificate, 128, "%s/edge.crt", fixture->directory);
    snprintf(fixture->private_key, 128, "%s/edge.key", fixture->directory);
    snprintf(fixture->authorities, 128, "%s/ca.crt", fixture->directory);
    fixture->paths =
        (udpai_tls_paths){fixture->certificate, fixture->private_key, fixture->authorities, NULL};
    fixture->key = make_key();
    make_plain(&fixture->certificate_pem, fixture->key, "edge");
    append_key(&fixture->key_pem, fixture->key, NULL);
    make_certificate(&fixture->authority_pem,
                     &(made_spec){.is_authority = true, .key = fixture->key});
    write_all(fixture);
    udpa_log_set_sink(UDPA_LOG_WARNING, count_warning, fixture);
    *state = fixture;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *fixture = *state;
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    remove(fixture->certificate);
    remove(fixture->private_key);
    remove(fixture->authorities);
    assert_int_equal(rmdir(fixture->directory), 0);
    udpai_strbuf_done(&fixture->certificate_pem);
    udpai_strbuf_done(&fixture->key_pem);
    udpai_strbuf_done(&fixture->authority_pem);
    EVP_PKEY_free(fixture->key);
    free(fixture);
    return 0;
}

static udpai_tls_files
read_good(struct fixture *fixture)
{
    udpai_tls_files files;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_tls_files_read(&files, &fixture->paths, MADE_NOW, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    return files;
}

/* Reading fails; the message begins with the file and has these words. */
static void
assert_refused(struct fixture *fixture, udpa_err code, const char *file, const char *words)
{
    udpai_tls_files files = {.not_after_s = 7};
    udpa_error *error = NULL;
    udpa_err err = udpai_tls_files_read(&files, &fixture->paths, MADE_NOW, &error);
    assert_true(files.not_after_s == 7 && !files.certificate);
    assert_int_equal(strncmp(udpa_error_message(error), file, strlen(file)), 0);
    assert_failed(err, code, error, words);
}

static void
good_files_are_read_whole(void **state)
{
    struct fixture *fixture = *state;
    udpai_tls_files files = read_good(fixture);
    assert_string_equal(files.certificate, fixture->certificate_pem.data);
    assert_string_equal(files.private_key, fixture->key_pem.data);
    assert_string_equal(files.authorities, fixture->authority_pem.data);
    assert_str(udpai_identity_name(files.identity), "edge");
    assert_true(files.not_after_s == MADE_NOT_AFTER);
    udpai_tls_files_done(&files);
    assert_null(files.private_key);
    assert_int_equal(fixture->n_warnings, 0);
}

static void
each_part_may_be_left_out(void **state)
{
    struct fixture *fixture = *state;
    fixture->paths = (udpai_tls_paths){.authorities = fixture->authorities, .certificate = ""};
    udpai_tls_files files = read_good(fixture);
    assert_null(files.certificate);
    assert_null(files.private_key);
    assert_null(files.identity);
    assert_true(files.not_after_s == INT64_MAX);
    assert_string_equal(files.authorities, fixture->authority_pem.data);
    udpai_tls_files_done(&files);
    fixture->paths = (udpai_tls_paths){fixture->certificate, fixture->private_key, "", NULL};
    files = read_good(fixture);
    assert_null(files.authorities);
    assert_non_null(files.certificate);
    udpai_tls_files_done(&files);
    fixture->paths = (udpai_tls_paths){0};
    files = read_good(fixture);
    assert_null(files.certificate);
    udpai_tls_files_done(&files);
}

static void
certificate_and_key_come_together(void **state)
{
    struct fixture *fixture = *state;
    fixture->paths.private_key = NULL;
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->certificate, "give both files");
    fixture->paths = (udpai_tls_paths){NULL, fixture->private_key, NULL, NULL};
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->private_key, "give both files");
}

static void
files_that_cannot_be_read_are_named(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(unlink(fixture->private_key), 0);
    assert_refused(fixture, UDPA_ERR_IO, fixture->private_key, "No such file");
    assert_int_equal(mkfifo(fixture->private_key, 0600), 0);
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->private_key, "not a regular file");
    assert_int_equal(unlink(fixture->private_key), 0);
    write_all(fixture);
    assert_int_equal(truncate(fixture->authorities, UDPAI_PEM_MAX + 1), 0);
    assert_refused(fixture, UDPA_ERR_LIMIT, fixture->authorities, "more than 1048576");
    fixture->paths.authorities = fixture->directory;
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->directory, "not a regular file");
}

static void
contents_are_checked(void **state)
{
    struct fixture *fixture = *state;
    write_file(fixture->authorities, udpai_strbuf_view(&fixture->certificate_pem), 0644);
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->authorities, "no certificate of an authority");
    write_all(fixture);
    write_file(fixture->certificate, udpai_strbuf_view(&fixture->key_pem), 0644);
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->certificate, "are the two files exchanged?");
    write_all(fixture);
    write_file(fixture->certificate, (udpai_str){0}, 0644);
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->certificate, "is empty");
    write_all(fixture);
    write_file(fixture->certificate, UDPAI_STR("-----BEGIN\0-----"), 0644);
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->certificate, "zero bytes");
    write_all(fixture);
    EVP_PKEY *other = make_key();
    udpai_strbuf wrong = {0};
    append_key(&wrong, other, NULL);
    write_file(fixture->private_key, udpai_strbuf_view(&wrong), 0600);
    assert_refused(fixture, UDPA_ERR_INVAL, fixture->certificate, "does not belong to");
    udpai_strbuf_done(&wrong);
    EVP_PKEY_free(other);
}

static void
time_is_checked(void **state)
{
    struct fixture *fixture = *state;
    udpai_tls_files files;
    udpa_error *error = NULL;
    udpa_err err = udpai_tls_files_read(&files, &fixture->paths, MADE_NOT_AFTER + 1, &error);
    assert_failed(err, UDPA_ERR_INVAL, error, "none of its 1 certificate authorities is valid");
    fixture->paths.authorities = NULL;
    error = NULL;
    err = udpai_tls_files_read(&files, &fixture->paths, MADE_NOT_AFTER + 1, &error);
    assert_failed(err, UDPA_ERR_INVAL, error, "expired on 2027-01-15");
}

static void
a_key_for_everybody_is_refused(void **state)
{
    struct fixture *fixture = *state;
    static const mode_t refused[] = {0644, 0604, 0602, 0601}, good[] = {0600, 0400, 0640, 0440};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(refused); i++) {
        assert_int_equal(chmod(fixture->private_key, refused[i]), 0);
        assert_refused(fixture, UDPA_ERR_DENIED, fixture->private_key,
                       "every user of this machine can use");
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(good); i++) {
        assert_int_equal(chmod(fixture->private_key, good[i]), 0);
        udpai_tls_files files = read_good(fixture);
        udpai_tls_files_done(&files);
    }
    assert_int_equal(fixture->n_warnings, 0);
}

/* A server can do with such a certificate; who wants to know its name, cannot. */
static void
an_unclear_name_of_ours_is_warned_of(void **state)
{
    struct fixture *fixture = *state;
    const made_name san = {GEN_DNS, UDPAI_STR("a\0b")};
    udpai_strbuf odd = {0};
    make_certificate(&odd, &(made_spec){.sans = &san, .n_sans = 1, .key = fixture->key});
    write_file(fixture->certificate, udpai_strbuf_view(&odd), 0644);
    udpai_tls_files files = read_good(fixture);
    assert_null(files.identity);
    assert_int_equal(fixture->n_warnings, 1);
    udpai_tls_files_done(&files);
    udpai_strbuf_done(&odd);
}

/* ---- revocation lists ---- */

/* Returns the path, which is a file until the end of the case. */
static const char *
put_list(struct fixture *fixture, const char *issuer)
{
    static char path[160];
    udpai_strbuf text = {0};
    append_crl(&text, make_crl(issuer, NULL, 0), fixture->key);
    snprintf(path, sizeof(path), "%s/ca.crl", fixture->directory);
    write_file(path, udpai_strbuf_view(&text), 0644);
    udpai_strbuf_done(&text);
    return path;
}

static void
name_authority(struct fixture *fixture)
{
    const made_name cn = {V_ASN1_UTF8STRING, UDPAI_STR("root")};
    fixture->authority_pem.len = 0;
    make_certificate(&fixture->authority_pem, &(made_spec){.common_names = &cn,
                                                           .n_common_names = 1,
                                                           .is_authority = true,
                                                           .key = fixture->key});
    write_all(fixture);
}

static void
a_list_is_taken_with_its_authorities(void **state)
{
    struct fixture *fixture = *state;
    name_authority(fixture);
    fixture->paths.revocations = put_list(fixture, "root");
    udpai_tls_files files = read_good(fixture);
    assert_non_null(files.trust);
    assert_ok(udpai_trust_store_check_time(files.trust, MADE_CRL_UNTIL, NULL));
    assert_int_equal(fixture->n_warnings, 0);
    udpai_tls_files_done(&files);
    assert_ok(udpai_tls_files_read(&files, &fixture->paths, MADE_CRL_UNTIL + 1, NULL));
    assert_int_equal(fixture->n_warnings, 1); /* it is late, and is taken */
    udpai_tls_files_done(&files);
    remove(fixture->paths.revocations);
}

static void
lists_that_do_not_fit_are_refused(void **state)
{
    struct fixture *fixture = *state;
    name_authority(fixture);
    const char *path = put_list(fixture, "somebody else");
    fixture->paths.revocations = path;
    assert_refused(fixture, UDPA_ERR_INVAL, path, "of CN=somebody else, was issued by none of the");
    remove(path);
    assert_refused(fixture, UDPA_ERR_IO, path, "cannot be opened");
    fixture->paths.authorities = NULL;
    assert_refused(fixture, UDPA_ERR_INVAL, path, "goes with the authorities");
}

static udpa_err
read_and_done(void *context)
{
    struct fixture *fixture = context;
    udpai_tls_files files = {0};
    udpa_err err = udpai_tls_files_read(&files, &fixture->paths, MADE_NOW, NULL);
    assert_true(err != UDPA_OK || files.identity);
    udpai_tls_files_done(&files);
    return err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    assert_true(oom_torture(read_and_done, *state) > 5);
}

int
main(void)
{
#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FILES(good_files_are_read_whole),
        WITH_FILES(each_part_may_be_left_out),
        WITH_FILES(certificate_and_key_come_together),
        WITH_FILES(files_that_cannot_be_read_are_named),
        WITH_FILES(contents_are_checked),
        WITH_FILES(time_is_checked),
        WITH_FILES(a_key_for_everybody_is_refused),
        WITH_FILES(an_unclear_name_of_ours_is_warned_of),
        WITH_FILES(a_list_is_taken_with_its_authorities),
        WITH_FILES(lists_that_do_not_fit_are_refused),
        WITH_FILES(lack_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests_name("transport tls_files", tests, NULL, NULL);
}
