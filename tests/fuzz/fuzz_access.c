/* SPDX-License-Identifier: Apache-2.0 */
/* A question about access, as a peer writes its name: what it asks is asked again by the name that
 * is made of it, and is answered. */
#include "base/alloc.h"
#include "session/access_question.h"
#include "tests/fuzz/fuzz.h"

static void
answer(const udpai_access_question *question)
{
    static const udpai_str everybody[] = {{"*", 1}}, acme[] = {{"com.acme", 8}};
    const udpai_acl_rule rule = {
        .name = {"r", 1},
        .identities = everybody,
        .n_identities = 1,
        .actions = UDPAI_ACL_PUBLISH,
        .prefixes = acme,
        .n_prefixes = 1,
    };
    const udpai_acl_options options = {.rules = &rule, .n_rules = 1};
    udpai_acl *acl = NULL;
    FUZZ_CHECK(udpai_acl_new(&acl, &options) == UDPA_OK);
    udpa_bytes *said = udpai_access_answer(acl, question);
    FUZZ_CHECK(said);
    udpa_bytes_unref(said);
    udpai_acl_unref(acl);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static udpai_access_question first, second;
    char *name = NULL;
    if (!udpai_access_question_parse((udpai_str){(const char *)data, size}, &first))
        return 0;
    answer(&first);
    if (udpai_access_question_compose(&first, &name) != UDPA_OK) /* its bytes encoded are more */
        return 0;
    FUZZ_CHECK(udpai_access_question_parse(udpai_str_from(name), &second) ||
               memchr(data, '\0', size));
    if (!memchr(data, '\0', size))
        FUZZ_CHECK(first.action == second.action &&
                   udpai_str_eq(first.type_name, second.type_name) &&
                   udpai_str_eq(first.peer, second.peer) &&
                   udpai_str_eq(first.authority, second.authority) &&
                   udpai_str_eq(first.name, second.name));
    udpai_free(name);
    return 0;
}
