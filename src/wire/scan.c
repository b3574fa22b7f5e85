/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/scan.h"

#include "base/proto.h"
#include "base/utf8.h"
#include "google/protobuf/any.pb-c.h"

struct frame {
    udpai_proto_reader reader;
    const ProtobufCMessageDescriptor *type;
    uint64_t seen; /* by index: singular messages, and the first member of each oneof */
    udpai_str message;
};

struct scan {
    struct frame frames[UDPAI_SCAN_DEPTH_MAX];
    size_t depth;
    size_t fields_left;
    udpai_spans *anys;
    udpa_error **ret_error;
    /* Messages that are checked by themselves; NULL: none are. */
    const ProtobufCMessageDescriptor *apart;
    udpai_scan_faults *faults;
    size_t n_parts;    /* that were met */
    size_t part_depth; /* of the frame of the one that is read; 0: of none */
    size_t n_anys;     /* before it */
};

static udpai_wire_type
wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return UDPAI_WIRE_FIXED32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return UDPAI_WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return UDPAI_WIRE_BYTES;
    default:
        return UDPAI_WIRE_VARINT;
    }
}

static bool
is_packed(const ProtobufCFieldDescriptor *field, udpai_wire_type type)
{
    return type == UDPAI_WIRE_BYTES && field->label == PROTOBUF_C_LABEL_REPEATED &&
           wire_type_of(field->type) != UDPAI_WIRE_BYTES;
}

/* The bit of a field that may be given once; all members of a oneof share that of their first. 0:
 * the field may be repeated, or the last one given simply counts. */
static uint64_t
once_bit(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field)
{
    bool is_oneof = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    if (field->label == PROTOBUF_C_LABEL_REPEATED ||
        (!is_oneof && field->type != PROTOBUF_C_TYPE_MESSAGE))
        return 0;
    size_t index = (size_t)(field - type->fields);
    for (size_t i = 0; is_oneof && i < index; i++)
        if ((type->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
            type->fields[i].quantifier_offset == field->quantifier_offset)
            index = i;
    return index < 64 ? (uint64_t)1 << index : 0;
}

static udpa_err
enter(struct scan *scan, const ProtobufCMessageDescriptor *type, udpai_str message)
{
    if (scan->depth == UDPAI_SCAN_DEPTH_MAX)
        return udpai_fail(scan->ret_error, UDPA_ERR_MALFORMED, "messages nest deeper than %d",
                          UDPAI_SCAN_DEPTH_MAX);
    if (type == &google__protobuf__any__descriptor && scan->anys &&
        !udpai_vector_push(scan->anys, message))
        return udpai_fail_code(scan->ret_error, UDPA_ERR_NOMEM);
    scan->frames[scan->depth++] = (struct frame){udpai_proto_read(message), type, 0, message};
    if (scan->apart == type && !scan->part_depth) {
        scan->part_depth = scan->depth;
        scan->n_anys = scan->anys ? scan->anys->n : 0;
        scan->n_parts++;
    }
    return UDPA_OK;
}

static void
leave(struct scan *scan)
{
    if (scan->depth-- == scan->part_depth)
        scan->part_depth = 0;
}

/* Goes on behind the part that is read, if what is wrong there concerns it alone. */
static udpa_err
set_apart(struct scan *scan, udpa_err err)
{
    if (err != UDPA_ERR_MALFORMED || !scan->part_depth)
        return err;
    const struct frame *frame = &scan->frames[scan->part_depth - 1];
    if (frame->message.len < 2 || scan->faults->n == UDPAI_SCAN_FAULTS_MAX)
        return err;
    const udpai_scan_fault fault = {scan->n_parts - 1, frame->message, *scan->ret_error};
    if (!fault.error || !udpai_vector_push(scan->faults, fault)) {
        *scan->ret_error = udpa_error_unref(*scan->ret_error);
        return udpai_fail_code(scan->ret_error, UDPA_ERR_NOMEM);
    }
    *scan->ret_error = NULL;
    if (scan->anys)
        scan->anys->n = scan->n_anys;
    scan->depth = scan->part_depth;
    leave(scan);
    return UDPA_OK;
}

static udpa_err
check_known(struct scan *scan,
            struct frame *frame,
            const ProtobufCFieldDescriptor *known,
            const udpai_proto_field *field)
{
    const char *message = frame->type->name;
    if (field->type != wire_type_of(known->type) && !is_packed(known, field->type))
        return udpai_fail(scan->ret_error, UDPA_ERR_MALFORMED, "%s.%s has wire type %d", message,
                          known->name, (int)field->type);
    uint64_t once = once_bit(frame->type, known);
    if (frame->seen & once)
        return udpai_fail(scan->ret_error, UDPA_ERR_MALFORMED, "%s.%s is given twice", message,
                          known->name);
    frame->seen |= once;
    if (known->type == PROTOBUF_C_TYPE_STRING && !udpai_utf8_valid(field->bytes))
        return udpai_fail(scan->ret_error, UDPA_ERR_MALFORMED,
                          "%s.%s is not UTF-8 text without zero bytes", message, known->name);
    if (known->type == PROTOBUF_C_TYPE_MESSAGE)
        return enter(scan, known->descriptor, field->bytes);
    return UDPA_OK;
}

static udpa_err
check_field(struct scan *scan, struct frame *frame, const udpai_proto_field *field)
{
    if (scan->fields_left-- == 0)
        return udpai_fail(scan->ret_error, UDPA_ERR_LIMIT, "too many fields in one message");
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(frame->type, field->number);
    return known ? check_known(scan, frame, known, field) : UDPA_OK;
}

static udpa_err
scan_all(struct scan *scan)
{
    udpa_err err = UDPA_OK;
    while (scan->depth && err == UDPA_OK) {
        struct frame *frame = &scan->frames[scan->depth - 1];
        udpai_proto_field field;
        if (udpai_proto_next(&frame->reader, &field))
            err = check_field(scan, frame, &field);
        else if (frame->reader.failed)
            err =
                udpai_fail(scan->ret_error, UDPA_ERR_MALFORMED, "malformed %s", frame->type->name);
        else
            leave(scan);
        err = set_apart(scan, err);
    }
    return err;
}

static udpa_err
scan_with(struct scan *scan, const ProtobufCMessageDescriptor *type, udpai_str message)
{
    scan->fields_left = udpai_scan_fields_max(message);
    udpa_err err = enter(scan, type, message);
    return err == UDPA_OK ? scan_all(scan) : err;
}

udpa_err
udpai_scan(const ProtobufCMessageDescriptor *type,
           udpai_str message,
           udpai_spans *ret_anys,
           udpa_error **ret_error)
{
    struct scan scan; /* the frames are written when they are entered */
    scan.depth = scan.part_depth = scan.n_parts = 0;
    scan.anys = ret_anys;
    scan.ret_error = ret_error;
    scan.apart = NULL;
    scan.faults = NULL;
    return scan_with(&scan, type, message);
}

udpa_err
udpai_scan_apart(const ProtobufCMessageDescriptor *type,
                 udpai_str message,
                 const ProtobufCMessageDescriptor *apart,
                 udpai_spans *ret_anys,
                 udpai_scan_faults *ret_faults,
                 udpa_error **ret_error)
{
    udpa_error *error = NULL; /* faults have theirs, whether the caller asks for one or not */
    struct scan scan;
    scan.depth = scan.part_depth = scan.n_parts = 0;
    scan.anys = ret_anys;
    scan.ret_error = &error;
    scan.apart = apart;
    scan.faults = ret_faults;
    udpa_err err = scan_with(&scan, type, message);
    if (ret_error && error)
        *ret_error = error;
    else
        udpa_error_unref(error);
    return err;
}

void
udpai_scan_faults_clear(udpai_scan_faults *faults)
{
    for (size_t i = 0; i < faults->n; i++)
        udpa_error_unref(faults->items[i].error);
    faults->n = 0;
}

/* One field that no message of ours has, as long as the part: its number, its length in so many
 * bytes that both fit, and zeros. */
void
udpai_scan_blank(char *part, size_t len)
{
    enum {
        UNKNOWN_FIELD = 15 << 3 | UDPAI_WIRE_BYTES,
        MORE = 0x80,
        BITS = 7
    };

    size_t n = 1;
    while (len - 1 - n >= (size_t)1 << (BITS * n))
        n++;
    size_t rest = len - 1 - n;
    memset(part, 0, len);
    part[0] = UNKNOWN_FIELD;
    for (size_t i = 0; i < n; i++, rest >>= BITS)
        part[1 + i] = (char)((rest & (MORE - 1)) | (i + 1 < n ? MORE : 0));
}
