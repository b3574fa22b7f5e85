/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes one resource to a node, and prints the receipt. */

/* Try it:
 *
 *     cc publish.c -o publish $(pkg-config --cflags --libs udpa)
 *     udpad &                                  # a node on 127.0.0.1:18000
 *     ./publish 127.0.0.1:18000 local/greeting "hello, world"
 *     udpactl get google.protobuf.StringValue -o yaml
 *
 * A resource is any protobuf message, here a google.protobuf.StringValue, with a name that begins
 * with its namespace. The node answers with a receipt: what is in it was taken, or refused with a
 * reason. Exit status: 0 taken, 1 refused or no receipt. */
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <udpa/publish.h>

#define TEXT_MAX 127 /* longer ones need more than one byte for their length */

typedef struct publishing {
    udpa_endpoint *endpoint;
    int status;
} publishing;

/* Bytes of a google.protobuf.StringValue: field 1, of the kind that has a length. A program of your
 * own would let its protobuf library do this. */
static size_t
string_value(unsigned char *room, const char *text)
{
    size_t len = strlen(text);
    room[0] = 1 << 3 | 2;
    room[1] = (unsigned char)len;
    memcpy(room + 2, text, len);
    return len + 2;
}

static udpa_resource *
make_resource(const char *name, const char *text)
{
    unsigned char payload[TEXT_MAX + 2];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    udpa_error *error = NULL;
    spec.name = name;
    spec.type_url = "type.googleapis.com/google.protobuf.StringValue";
    spec.payload = payload;
    spec.payload_size = string_value(payload, text);
    if (udpa_resource_new(&resource, &spec, &error) != UDPA_OK)
        fprintf(stderr, "publish: %s\n", udpa_error_message(error));
    udpa_error_unref(error);
    return resource;
}

/* Comes once, whatever happens. */
static void
on_receipt(void *userdata, const udpa_receipt *receipt)
{
    publishing *self = userdata;
    const udpa_error *error = udpa_receipt_error(receipt);
    const udpa_error *refusal = udpa_receipt_refusal(receipt, 0);
    if (error)
        fprintf(stderr, "publish: %s\n", udpa_error_message(error));
    else if (refusal)
        printf("refused: %s\n", udpa_error_message(refusal));
    else
        printf("applied: %s\n", udpa_receipt_name(receipt, 0));
    self->status = error || refusal;
    udpa_endpoint_close(self->endpoint, NULL, NULL); /* then nothing is left on the loop */
}

static void
publish(publishing *self, udpa_resource *resource)
{
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    udpa_error *error = NULL;
    options.resources = &resource;
    options.n_resources = 1;
    options.timeout_ms = 5000;
    options.receipt = on_receipt;
    options.userdata = self;
    if (udpa_publish(self->endpoint, &options, &error) != UDPA_OK) {
        fprintf(stderr, "publish: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        udpa_endpoint_close(self->endpoint, NULL, NULL);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

int
main(int argc, char **argv)
{
    publishing self = {NULL, 1};
    udpa_source node = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    udpa_error *error = NULL;
    if (argc != 4 || strlen(argv[3]) > TEXT_MAX) {
        fprintf(stderr, "usage: publish HOST:PORT NAMESPACE/ID TEXT\n");
        return 2;
    }
    node.name = "node";
    node.address = argv[1];
    options.node_id = "publish-example"; /* the same id replaces what it published before */
    options.sources = &node;
    options.n_sources = 1;
    udpa_resource *resource = make_resource(argv[2], argv[3]);
    if (!resource)
        return 1;
    if (udpa_endpoint_new(&self.endpoint, uv_default_loop(), &options, &error) == UDPA_OK)
        publish(&self, resource);
    else
        fprintf(stderr, "publish: %s\n", udpa_error_message(error));
    udpa_error_unref(error);
    udpa_resource_unref(resource);
    return self.status;
}
