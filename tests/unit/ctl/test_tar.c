/* SPDX-License-Identifier: Apache-2.0 */
/* Archives as tar reads them (the test of bug-report has a real one), and that secrets are left
 * out. */
#include "ctl/tar.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "tests/harness/test.h"

static void
expect_redacted(const char *text, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    udpai_ctl_redact(&out, udpai_str_from(text));
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

static void
secrets_are_left_out(void **state)
{
    (void)state;
    expect_redacted("", "");
    expect_redacted("a certificate, its token is fine", "a certificate, its token is fine");
    expect_redacted("password=x1 y", "password=(redacted) y");
    expect_redacted("{\"etcd_Password\": \"x\\\"1\", \"b\": 2}",
                    "{\"etcd_Password\": \"(redacted)\", \"b\": 2}");
    expect_redacted("token: 'a b'\nnext", "token: (redacted)\nnext");
    expect_redacted("Authorization: Bearer abc.def\nz", "Authorization: (redacted)\nz");
    expect_redacted("secret=", "secret=");
    expect_redacted("secret=\"open", "secret=\"(redacted)\"");
    expect_redacted("{\"a.token\": {\"v\": [\"x}\", 1], \"f\": \"x\"}, \"b\": 1}",
                    "{\"a.token\": \"(redacted)\", \"b\": 1}");
    expect_redacted("token: {x", "token: \"(redacted)\"");
    expect_redacted("token: \"\\", "token: \"(redacted)\"");
    expect_redacted("a\n-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nb",
                    "a\n(redacted)\nb");
    expect_redacted("-----BEGIN PRIVATE KEY-----\nMHc", "(redacted)");
    expect_redacted("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
                    "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----");
}

static void
a_file_is_whole_blocks(void **state)
{
    (void)state;
    udpai_strbuf tar = {0};
    unsigned sum = 0;
    udpai_ctl_tar_add(&tar, "d/a.txt", UDPAI_STR("hello"), 1700000000);
    assert_int_equal(tar.len, 1024);
    assert_memory_equal(tar.data, "d/a.txt", 8);
    assert_memory_equal(tar.data + 124, "00000000005", 12);
    assert_memory_equal(tar.data + 136, "14524770400", 12);
    assert_memory_equal(tar.data + 257, "ustar\00000", 8);
    for (size_t i = 0; i < 512; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)tar.data[i];
    assert_int_equal(strtoul(tar.data + 148, NULL, 8), sum);
    assert_memory_equal(tar.data + 512, "hello\0\0", 7);
    udpai_ctl_tar_add(&tar, "b", UDPAI_STR(""), 0);
    assert_int_equal(tar.len, 1536);
    udpai_ctl_tar_end(&tar);
    assert_int_equal(tar.len, 2560);
    udpai_strbuf_done(&tar);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_left_out),
        cmocka_unit_test(a_file_is_whole_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
