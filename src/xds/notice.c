/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/notice.h"

static size_t
item_size(const udpai_renderer *renderer, const udpai_send_item *item)
{
    (void)renderer;
    (void)item;
    return 1;
}

static udpai_str
version(const udpai_renderer *renderer,
        const udpa_resource *resource,
        char room[UDPAI_CONTENT_HASH_HEX])
{
    (void)renderer;
    (void)room;
    return udpai_resource_version(resource);
}

static udpa_err
compose(const udpai_renderer *renderer, const udpai_render *what, udpai_body *body)
{
    (void)renderer;
    (void)what;
    (void)body;
    return UDPA_OK;
}

const udpai_renderer udpai_xds_notice_renderer = {
    .shows_content_only = true,
    .item_size = item_size,
    .version = version,
    .compose = compose,
};
