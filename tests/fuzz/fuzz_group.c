/* SPDX-License-Identifier: Apache-2.0 */
/* The name space of a client, made of what it says of itself. Lines: a template, two node ids, a
 * cluster. Whatever they say, it is a prefix below what the configuration fixes, and no two ids
 * make the same. */
#include "model/name.h"
#include "tests/fuzz/fuzz.h"
#include "xds/group.h"

#define FIXED UDPAI_STR("com.acme/clients/")

static bool
expand(udpai_str template, udpai_str id, udpai_str cluster, char *room, udpai_str *ret)
{
    udpai_node_info *node = NULL;
    const udpai_node_parts parts = {.id = id, .cluster = cluster};
    FUZZ_CHECK(udpai_node_info_new(&node, &parts) == UDPA_OK);
    const udpai_xds_client client = {.node = node};
    bool made = udpai_xds_template_expand(template, &client, room, ret, NULL) == UDPA_OK;
    udpai_node_info_unref(node);
    return made;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char room[2][UDPAI_XDS_GROUP_NAMESPACE_MAX];
    udpai_str input = {(const char *)data, size}, made[2];
    udpai_str template = fuzz_take_line(&input), one = fuzz_take_line(&input),
              two = fuzz_take_line(&input), cluster = fuzz_take_line(&input);
    if (udpai_xds_template_check(template, NULL) == UDPA_OK)
        (void)expand(template, one, cluster, room[0], &made[0]);
    template = UDPAI_STR("com.acme/clients/{node_id}");
    if (!expand(template, one, cluster, room[0], &made[0]))
        return 0;
    FUZZ_CHECK(udpai_prefix_check(made[0], NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_str_starts(made[0], FIXED) && made[0].len > FIXED.len);
    FUZZ_CHECK(!memchr(made[0].data + FIXED.len, '/', made[0].len - FIXED.len));
    if (expand(template, two, cluster, room[1], &made[1]))
        FUZZ_CHECK(udpai_str_eq(made[0], made[1]) == udpai_str_eq(one, two));
    return 0;
}
