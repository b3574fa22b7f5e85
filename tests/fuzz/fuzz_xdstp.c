/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the form xdstp://…: a line of any bytes each, what must hold of one, and between two. */
#include "model/xdstp.h"

#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"

/* The canonical text is that of itself, behind a namespace; false: it was refused, in words. */
static bool
check_one(udpai_str text, udpai_xdstp *xdstp, char room[UDPAI_NAME_MAX], udpai_str *ret_name)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_xdstp_parse(text, xdstp, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    if (err != UDPA_OK)
        return false;
    FUZZ_CHECK(udpai_xdstp_is(text) && xdstp->id.len && xdstp->id.len <= UDPAI_NAME_MAX);
    FUZZ_CHECK(udpai_utf8_valid(xdstp->id) && udpai_utf8_valid(xdstp->authority));
    return udpai_xdstp_full_name(xdstp, UDPAI_STR("ns"), room, ret_name, NULL) == UDPA_OK;
}

static void
check_again(const udpai_xdstp *xdstp)
{
    static char text[UDPAI_XDSTP_TEXT_MAX];
    static udpai_xdstp again;
    char *at = text;
    if (xdstp->type.len + xdstp->id.len + 16 > sizeof(text))
        return;
    udpai_str_put(&at, UDPAI_STR("xdstp://a/"));
    udpai_str_put(&at, xdstp->type);
    *at++ = '/';
    udpai_str_put(&at, xdstp->id);
    FUZZ_CHECK(udpai_xdstp_parse((udpai_str){text, (size_t)(at - text)}, &again, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_str_eq(again.id, xdstp->id) && udpai_str_eq(again.type, xdstp->type));
    FUZZ_CHECK(again.is_glob == xdstp->is_glob);
}

/* A member, spelled as its collection, is parsed as itself. */
static void
check_membership(udpai_str glob_text, const udpai_xdstp *glob, udpai_str glob_name, udpai_str name)
{
    static char spelled[UDPAI_XDSTP_TEXT_MAX + UDPAI_NAME_MAX];
    static udpai_xdstp member;
    char of_name[UDPAI_GLOB_MAX], room[UDPAI_NAME_MAX];
    udpai_str own, member_text, member_name;
    if (!glob->is_glob || !udpai_glob_of_name(name, of_name, &own) || !udpai_str_eq(own, glob_name))
        return;
    FUZZ_CHECK(udpai_prefix_covers(udpai_glob_prefix(glob_name), name));
    FUZZ_CHECK(udpai_glob_member(glob_text, name, spelled, &member_text));
    if (member_text.len > UDPAI_XDSTP_TEXT_MAX)
        return;
    FUZZ_CHECK(udpai_xdstp_parse(member_text, &member, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_xdstp_full_name(&member, UDPAI_STR("ns"), room, &member_name, NULL) ==
               UDPA_OK);
    FUZZ_CHECK(udpai_str_eq(member_name, name));
    FUZZ_CHECK(udpai_str_eq(member.authority, glob->authority));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static udpai_xdstp one, other;
    char one_room[UDPAI_NAME_MAX], other_room[UDPAI_NAME_MAX];
    udpai_str input = {(const char *)data, size}, one_name, other_name;
    udpai_str first = fuzz_take_line(&input), second = fuzz_take_line(&input);
    bool has_one = check_one(first, &one, one_room, &one_name);
    if (has_one)
        check_again(&one);
    if (check_one(second, &other, other_room, &other_name) && has_one)
        check_membership(first, &one, one_name, other_name);
    return 0;
}
