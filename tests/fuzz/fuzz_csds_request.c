/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks by CSDS: the first byte is the length of a Node's metadata, in units of 16 bytes; the
 * metadata follow, the rest is the ClientStatusRequest with its matchers. Whatever they say, what
 * is refused leaves nothing behind, and what is taken gives the same answer twice, within the
 * bounds that the header names. */
#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"
#include "xds/csds_internal.h"

static size_t n_compiled;

/* Expressions that begin with '(' are none; the others match what they are. */
static udpa_err
compile(udpai_regex **ret_regex, udpai_str pattern, udpa_error **ret_error)
{
    FUZZ_CHECK(pattern.len > 0 && pattern.len <= UDPAI_NODE_MATCHER_TEXT_MAX);
    if (pattern.data[0] == '(')
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%.*s' is none", UDPAI_SHOWN(pattern));
    udpai_str *copy = udpai_alloc(sizeof(*copy) + pattern.len);
    FUZZ_CHECK(copy);
    *copy = (udpai_str){(char *)(copy + 1), pattern.len};
    memcpy(copy + 1, pattern.data, pattern.len);
    *ret_regex = (udpai_regex *)copy;
    n_compiled++;
    return UDPA_OK;
}

static bool
matches(const udpai_regex *regex, udpai_str text)
{
    return udpai_str_eq(*(const udpai_str *)(const void *)regex, text);
}

static void
release(udpai_regex *regex)
{
    udpai_free(regex);
    n_compiled--;
}

static const udpai_regex_ops regexes = {compile, matches, release};

static void
check_answer(const udpai_csds_request *request, udpai_str metadata)
{
    udpai_node_info *node = NULL;
    const udpai_node_matchers *matchers = &request->matchers;
    const udpai_node_parts parts = {.id = UDPAI_STR("client-1"), .metadata = metadata};
    FUZZ_CHECK(udpai_node_info_new(&node, &parts) == UDPA_OK);
    bool fits = udpai_node_matchers_fit(matchers, node);
    FUZZ_CHECK(fits == udpai_node_matchers_fit(matchers, node));
    FUZZ_CHECK(fits || matchers->n_items);
    FUZZ_CHECK(udpai_node_matchers_fit(matchers, NULL) == !matchers->n_items);
    FUZZ_CHECK(matchers->n_items <= UDPAI_NODE_MATCHERS_MAX &&
               matchers->n_pieces <= UDPAI_NODE_MATCHER_PIECES_MAX &&
               matchers->n_structs <= UDPAI_NODE_MATCHER_STRUCTS_MAX &&
               matchers->regexes.n <= UDPAI_NODE_MATCHER_REGEX_MAX);
    udpai_node_info_unref(node);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    udpai_str metadata = fuzz_take(&input, 16 * (size_t)fuzz_take_byte(&input));
    udpa_error *error = NULL;
    udpai_csds_request request;
    udpai_csds_request_init(&request);
    udpa_err err = udpai_csds_request_decode(&request, input, &regexes, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    if (err == UDPA_OK)
        check_answer(&request, metadata);
    udpa_error_unref(error);
    udpai_csds_request_done(&request);
    FUZZ_CHECK(n_compiled == 0 && udpai_alloc_live() == before);
    return 0;
}
