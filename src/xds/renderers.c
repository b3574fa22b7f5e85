/* SPDX-License-Identifier: Apache-2.0 */
/* The renderers of an audience: one for each form of responses, and for clients that read errors.
 */
#include "xds/render_internal.h"

static udpai_str
version(const udpai_renderer *renderer,
        const udpa_resource *resource,
        char room[UDPAI_CONTENT_HASH_HEX])
{
    (void)renderer;
    udpai_resource_content_hex(resource, room);
    return (udpai_str){room, UDPAI_CONTENT_HASH_HEX};
}

static void
init_forms(const udpai_xds_audience *audience, udpai_xds_renderer *forms, bool sends_errors)
{
    for (size_t i = 0; i < UDPAI_XDS_FORMS; i++) {
        udpai_xds_renderer *form = &forms[i];
        form->sends_errors = sends_errors;
        form->audience = audience;
        form->form = (udpai_xds_form)i;
        form->renderer.serial = audience->serial;
        form->renderer.version = version;
        form->renderer.shows_content_only = true;
        form->renderer.selects_variants = true;
        if (i == UDPAI_XDS_DELTA)
            udpai_xds_renderer_init_delta(&form->renderer);
        else
            udpai_xds_renderer_init_sotw(&form->renderer);
    }
}

void
udpai_xds_audience_init(udpai_xds_audience *audience)
{
    init_forms(audience, audience->renderers, false);
    init_forms(audience, audience->with_errors, true);
}
