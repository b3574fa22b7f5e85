/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata of any bytes, looked at along a path; and patterns, against their plain definition.
 * Lines: the path, its keys divided by '/'; the value; a node id; a pattern of it. The rest is
 * metadata. */
#include "tests/fuzz/fuzz.h"
#include "xds/audience.h"

#define PATH_MAX_LEN 16
#define PATTERN_MAX 24

static bool
fits_plainly(udpai_str pattern, udpai_str text)
{
    if (pattern.len == 0)
        return text.len == 0;
    const udpai_str rest = {pattern.data + 1, pattern.len - 1};
    if (*pattern.data != '*')
        return text.len && *text.data == *pattern.data &&
               fits_plainly(rest, (udpai_str){text.data + 1, text.len - 1});
    for (size_t i = 0; i <= text.len; i++)
        if (fits_plainly(rest, (udpai_str){text.data + i, text.len - i}))
            return true;
    return false;
}

static bool
matches(const udpai_xds_match *match, const udpai_node_parts *parts)
{
    udpai_xds_audience audiences[2] = {{.match = *match}};
    udpai_node_info *node = NULL;
    FUZZ_CHECK(udpai_node_info_new(&node, parts) == UDPA_OK);
    udpai_xds_audience *alone = udpai_xds_audience_choose(audiences, 1, NULL, node);
    udpai_xds_audience *found = udpai_xds_audience_choose(audiences, 2, NULL, node);
    udpai_node_info_unref(node);
    FUZZ_CHECK(found == (alone ? &audiences[0] : &audiences[1]));
    return alone != NULL;
}

static size_t
split(udpai_str text, udpai_str path[PATH_MAX_LEN])
{
    size_t n = 0;
    while (n < PATH_MAX_LEN) {
        const char *slash = text.len ? memchr(text.data, '/', text.len) : NULL;
        size_t len = slash ? (size_t)(slash - text.data) : text.len;
        path[n++] = (udpai_str){text.data, len};
        if (!slash)
            break;
        text = (udpai_str){slash + 1, text.len - len - 1};
    }
    return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size}, path[PATH_MAX_LEN];
    udpai_xds_metadata_match metadata = {.path = path};
    metadata.n_path = split(fuzz_take_line(&input), path);
    metadata.value = fuzz_take_line(&input);
    udpai_str id = fuzz_take_line(&input), pattern = fuzz_take_line(&input);
    id.len = udpai_min_size(id.len, PATTERN_MAX);
    pattern.len = udpai_min_size(pattern.len, PATTERN_MAX);
    const udpai_node_parts node = {.id = id, .metadata = input};
    matches(&(udpai_xds_match){.metadata = &metadata, .n_metadata = 1}, &node);
    const udpai_node_parts other = {.id = id, .parameters = input};
    const udpai_xds_parameter_match parameter = {id, path[0], metadata.value};
    matches(&(udpai_xds_match){.parameters = &parameter, .n_parameters = 1}, &other);
    const udpai_xds_match by_id = {.node_ids = {&pattern, 1}};
    size_t n_stars = 0;
    for (size_t i = 0; i < pattern.len; i++)
        n_stars += pattern.data[i] == '*';
    if (n_stars <= 5) /* the plain definition takes long for more */
        FUZZ_CHECK(matches(&by_id, &node) == fits_plainly(pattern, id));
    return 0;
}
