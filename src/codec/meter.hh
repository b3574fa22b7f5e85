/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a payload would take. A few bytes can be a message with a hundred fields, so
 * before what a peer has sent is parsed by reflection, it is measured: what is far more than such a
 * payload needs is refused. */
#ifndef UDPAI_METER_HH
#define UDPAI_METER_HH

#include "codec/world.hh"

extern "C" {
#include "base/proto.h"
}

namespace udpai
{

/* Adds up what parsed messages take, roughly. */
class Meter
{
  public:
    /* Levels of messages in one unit: what libprotobuf's clients accept. */
    static constexpr int kDepth = 100;

    explicit Meter(uint64_t size) : room_(kMemoryBase + kMemoryPerByte * size)
    {
    }

    /* False: it cannot be parsed, or there is no room any more. */
    bool Take(const pb::Descriptor *type, udpai_str bytes, int depth)
    {
        udpai_proto_reader reader = udpai_proto_read(bytes);
        udpai_proto_field field;
        if (depth > kDepth || !Spend(48 + 32 * uint64_t(type->field_count())))
            return false;
        while (udpai_proto_next(&reader, &field))
            if (!TakeField(type->FindFieldByNumber(int(field.number)), field, depth))
                return false;
        return !reader.failed;
    }

    bool is_empty = false;

  private:
    /* What the parsed form may take for so many bytes: endpoints take forty for each. */
    static constexpr uint64_t kMemoryBase = 16 << 20, kMemoryPerByte = 64;

    bool TakeField(const pb::FieldDescriptor *field, const udpai_proto_field &raw, int depth)
    {
        if (raw.type != UDPAI_WIRE_BYTES)
            return Spend(16);
        if (field && field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
            return Take(field->message_type(), raw.bytes, depth + 1);
        bool is_packed = field && field->is_packable();
        return Spend(40 + uint64_t(raw.bytes.len) * (is_packed ? 8 : 1));
    }

    bool Spend(uint64_t n)
    {
        is_empty = is_empty || n > room_;
        room_ -= is_empty ? 0 : n;
        return !is_empty;
    }

    uint64_t room_;
};

} /* namespace udpai */

#endif
