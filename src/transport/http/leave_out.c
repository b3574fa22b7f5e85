/* SPDX-License-Identifier: Apache-2.0 */
/* One resource that cannot be put into JSON is no reason to be without all others. Each is tried by
 * itself, once the answer as a whole has failed. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/proto.h"
#include "codec/convert.h"
#include "transport/http/http_internal.h"

/* What an answer becomes. */
struct leaving {
    udpai_http *http;
    const udpai_http_listing *listing;
    udpai_strbuf *out;
    size_t n_left_out;
};

static void
put_error(const struct leaving *self, udpai_str resource, const udpa_error *error)
{
    const udpai_http_listing *listing = self->listing;
    udpai_str reason = udpai_str_from(udpa_error_message(error));
    udpai_proto_writer size = {0};
    listing->put_error(&size, resource, reason);
    udpai_proto_writer writer = {
        .at = udpai_strbuf_extend(self->out, udpai_proto_bytes_size(listing->errors, size.size)),
    };
    if (!writer.at)
        return;
    udpai_proto_put_head(&writer, listing->errors, size.size);
    listing->put_error(&writer, resource, reason);
}

/* Types and fields without descriptors are not the resource's fault: they fail the answer.
 * @p field: all of it. */
static udpa_err
take_resource(struct leaving *self, udpai_str resource, udpai_str field)
{
    UDPAI_AUTO_FREE char *text = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_convert_to_complete_json(
        self->http->schema, udpai_str_from(self->listing->resource_type), resource, &text, &error);
    if (err == UDPA_ERR_NOMEM || err == UDPA_ERR_NOT_FOUND)
        return err;
    if (err == UDPA_OK) {
        udpai_strbuf_str(self->out, field);
    } else {
        put_error(self, resource, error);
        self->n_left_out++;
    }
    return UDPA_OK;
}

bool
udpai_http_leave_out(udpai_http *http,
                     const udpai_http_route *route,
                     udpai_str answer,
                     udpai_strbuf *out)
{
    struct leaving leaving = {.http = http, .listing = route->listing, .out = out};
    udpai_proto_reader reader = udpai_proto_read(answer);
    udpai_proto_field field;
    udpa_err err = route->listing ? UDPA_OK : UDPA_ERR_NOT_FOUND;
    const char *begin = (const char *)reader.at;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        udpai_str whole = {begin, (size_t)((const char *)reader.at - begin)};
        begin = (const char *)reader.at;
        if (field.number == route->listing->resources && field.type == UDPAI_WIRE_BYTES)
            err = take_resource(&leaving, field.bytes, whole);
        else
            udpai_strbuf_str(out, whole);
    }
    return err == UDPA_OK && !reader.failed && !udpai_strbuf_failed(out) && leaving.n_left_out;
}
