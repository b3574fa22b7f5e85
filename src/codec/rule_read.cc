/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rules, which are messages of no type that is known here, by the names of their fields;
 * flags among the options of descriptors, by number; and times. */
#include "codec/rules.hh"

using namespace udpai;

namespace
{

const pb::FieldDescriptor *
singular(const pb::Message &rules, const char *name, pb::FieldDescriptor::CppType type)
{
    const pb::FieldDescriptor *field = rules.GetDescriptor()->FindFieldByName(name);
    return field && !field->is_repeated() && field->cpp_type() == type ? field : nullptr;
}

} /* namespace */

bool
udpai::option_flag(const pb::Message &options, int number)
{
    bool flag = false;
    const pb::UnknownFieldSet &fields = options.GetReflection()->GetUnknownFields(options);
    for (int i = 0; i < fields.field_count(); i++)
        if (fields.field(i).number() == number &&
            fields.field(i).type() == pb::UnknownField::TYPE_VARINT)
            flag = fields.field(i).varint() != 0;
    return flag;
}

bool
udpai::rule_has(const pb::Message &rules, const char *name)
{
    const pb::FieldDescriptor *field = rules.GetDescriptor()->FindFieldByName(name);
    return field && !field->is_repeated() && rules.GetReflection()->HasField(rules, field);
}

bool
udpai::rule_flag(const pb::Message &rules, const char *name, bool otherwise)
{
    const pb::FieldDescriptor *field = singular(rules, name, pb::FieldDescriptor::CPPTYPE_BOOL);
    return field && rule_has(rules, name) ? rules.GetReflection()->GetBool(rules, field)
                                          : otherwise;
}

uint64_t
udpai::rule_number(const pb::Message &rules, const char *name, uint64_t otherwise)
{
    const pb::FieldDescriptor *field = singular(rules, name, pb::FieldDescriptor::CPPTYPE_UINT64);
    return field && rule_has(rules, name) ? rules.GetReflection()->GetUInt64(rules, field)
                                          : otherwise;
}

const pb::Message *
udpai::rule_message(const pb::Message &rules, const char *name)
{
    const pb::FieldDescriptor *field = singular(rules, name, pb::FieldDescriptor::CPPTYPE_MESSAGE);
    return field && rule_has(rules, name) ? &rules.GetReflection()->GetMessage(rules, field)
                                          : nullptr;
}

Nanos
udpai::nanos_of(const pb::Message &message)
{
    const pb::Reflection *reflection = message.GetReflection();
    const pb::FieldDescriptor *seconds = message.GetDescriptor()->FindFieldByNumber(1);
    const pb::FieldDescriptor *nanos = message.GetDescriptor()->FindFieldByNumber(2);
    if (!seconds || seconds->type() != pb::FieldDescriptor::TYPE_INT64 || seconds->is_repeated() ||
        !nanos || nanos->type() != pb::FieldDescriptor::TYPE_INT32 || nanos->is_repeated())
        return 0;
    return Nanos(reflection->GetInt64(message, seconds)) * 1000000000 +
           reflection->GetInt32(message, nanos);
}
