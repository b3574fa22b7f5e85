/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes tell of their clients (udpa.status.v1.ClientStatus): the first byte is the length of
 * the name of a resource, the second that of its value, in units of 4 bytes; both follow, then the
 * next. Whatever they say, the tree stays within its bounds, and is judged the same way twice. */
#include "model/name.h"
#include "reports/client_names.h"
#include "reports/client_tree.h"
#include "tests/fuzz/fuzz.h"

static udpai_str
cut(udpai_str *rest, size_t len)
{
    len = udpai_min_size(len, rest->len);
    udpai_str piece = {rest->data, len};
    rest->data += len;
    rest->len -= len;
    return piece;
}

static void
add(udpai_client_tree *tree, udpai_str name, udpai_str value)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS), value);
    const udpai_resource_parts parts = {.name = name, .any = any, .ttl_ms = 1};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpai_client_name read;
    if (udpai_resource_parts_check(&parts, NULL) != UDPA_OK)
        return;
    FUZZ_CHECK(udpai_resource_make(&resource, &parts) == UDPA_OK);
    size_t before = tree->nodes.n;
    FUZZ_CHECK(udpai_client_tree_add(tree, resource) == UDPA_OK);
    if (!udpai_client_name_read(name, &read))
        FUZZ_CHECK(tree->nodes.n == before);
    else
        FUZZ_CHECK(read.is_of_node == (read.number == 0));
    (void)udpai_client_tree_counts(tree, resource);
}

static void
check(udpai_client_tree *tree, bool alone)
{
    bool is_settled, again;
    char room[160];
    FUZZ_CHECK(udpai_client_tree_evaluate(tree, UDPAI_STR("n"), alone, &is_settled) == UDPA_OK);
    FUZZ_CHECK(tree->nodes.n <= UDPAI_CLIENT_TREE_NODES_MAX);
    FUZZ_CHECK(tree->nodes.n == tree->by_id.n);
    for (size_t i = 0; i < tree->nodes.n; i++) {
        const udpai_client_node *node = tree->nodes.items[i];
        const char *text = udpai_client_node_describe(node, room, sizeof(room));
        FUZZ_CHECK(node->n_counts <= UDPAI_CLIENT_EPOCHS_MAX);
        FUZZ_CHECK((text == NULL) == (node->state == UDPAI_CLIENT_NODE_WHOLE ||
                                      node->state == UDPAI_CLIENT_NODE_OTHER));
    }
    FUZZ_CHECK(udpai_client_tree_evaluate(tree, UDPAI_STR("n"), alone, &again) == UDPA_OK);
    FUZZ_CHECK(again == is_settled);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_client_tree tree;
    udpai_str rest = {(const char *)data, size};
    bool alone = size && data[0] & 0x80;
    udpai_client_tree_init(&tree);
    while (rest.len >= 2) {
        udpai_str head = cut(&rest, 2);
        udpai_str name = cut(&rest, (unsigned char)head.data[0] & 0x7f);
        udpai_str value = cut(&rest, (size_t)4 * (unsigned char)head.data[1]);
        add(&tree, name, value);
    }
    check(&tree, alone);
    udpai_client_tree_clear(&tree);
    return 0;
}
