/* SPDX-License-Identifier: Apache-2.0 */
/* validate.h: a walk through a payload, and through what is packed in it. */
#include "codec/deprecated.hh"
#include "codec/meter.hh"

#include <mutex>
#include <set>
#include <unordered_map>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

extern "C" {
#include "codec/place.h"
}

#include "codec/validate.h"
#include "model/type_url.h"

using namespace udpai;

struct udpai_validator {
    std::atomic<unsigned> refs{1};
    udpai_schema *schema = nullptr;
    const pb::Descriptor *rules_type = nullptr; /* validate.FieldRules; NULL: the schema has none */
    mutable std::mutex mutex;                   /* of the map; what it leads to does not change */
    mutable std::unordered_map<const pb::Descriptor *, std::unique_ptr<TypeRules>> types;
};

namespace
{

/* Units packed in each other, and levels in all. */
constexpr int kPackedDepth = 16, kTotalDepth = 200;
constexpr size_t kMembersShown = 8;
constexpr const char *kItems[] = {"item", "items"}, *kEntries[] = {"entry", "entries"};

const TypeRules *
rules_for(const udpai_validator *validator, const pb::Descriptor *type)
{
    std::lock_guard<std::mutex> lock(validator->mutex);
    std::unique_ptr<TypeRules> &rules = validator->types[type];
    if (!rules)
        rules = compile_rules(&validator->schema->world->factory, validator->rules_type, type);
    return rules.get();
}

class Walk
{
  public:
    Walk(const udpai_validator *validator,
         const udpai_validation *validation,
         size_t size,
         udpai_violation_fn report,
         void *userdata)
        : validator_(validator), validation_(validation), report_(report), userdata_(userdata),
          meter_(size), deprecated_(validation->deprecation)
    {
    }

    void Payload(const pb::Descriptor *type, udpai_str value)
    {
        VisitUnit(type, value, (validation_->checks & UDPAI_CHECK_RULES) != 0);
    }

    void Report(const std::string &reason)
    {
        if (n_reported++ < UDPAI_VIOLATIONS_MAX)
            report_(userdata_, path_.c_str(), reason.c_str());
    }

    void ReportDeprecated() const
    {
        if (n_reported == 0)
            deprecated_.ReportAll();
    }

    size_t n_reported = 0;

  private:
    /* Goes to a field, an index or a key, and back at the end of the block. */
    class Step
    {
      public:
        Step(Walk *walk, const std::string &field) : walk_(walk), size_(walk->path_.size())
        {
            walk->path_ += (walk->path_.empty() ? "" : ".") + field;
        }

        Step(Walk *walk, int index) : walk_(walk), size_(walk->path_.size())
        {
            walk->path_ += "[" + std::to_string(index) + "]";
        }

        Step(Walk *walk, udpai_quoted key) : walk_(walk), size_(walk->path_.size())
        {
            walk->path_ += std::string("[\"") + key.text + "\"]";
        }

        ~Step()
        {
            walk_->path_.resize(size_);
        }

      private:
        Walk *walk_;
        size_t size_;
    };

    bool IsDone() const
    {
        return n_reported >= UDPAI_VIOLATIONS_MAX;
    }

    /* The payload, or the contents of an Any. */
    void VisitUnit(const pb::Descriptor *type, udpai_str value, bool with_rules)
    {
        if (!meter_.Take(type, value, 1)) {
            Report(meter_.is_empty ? "is too large in memory to be checked, for its size"
                                   : "its bytes are no valid " + type->full_name());
            return;
        }
        pb::DynamicMessageFactory &factory = validator_->schema->world->factory;
        std::unique_ptr<pb::Message> message(factory.GetPrototype(type)->New());
        pb::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(value.data),
                                        int(value.len));
        stream.SetRecursionLimit(Meter::kDepth);
        if (value.len &&
            (!message->ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()))
            Report("its bytes are no valid " + type->full_name());
        else
            VisitMessage(*message, with_rules);
    }

    static std::string ShownUrl(const std::string &url)
    {
        return udpai_quote({url.data(), url.size()}).text;
    }

    void VisitAny(const pb::Message &any, bool with_rules)
    {
        const pb::Descriptor *type = any.GetDescriptor();
        std::string url = any.GetReflection()->GetString(any, type->FindFieldByNumber(1));
        std::string room;
        const std::string &value =
            any.GetReflection()->GetStringReference(any, type->FindFieldByNumber(2), &room);
        const pb::Descriptor *packed =
            descriptor_of(udpai_schema_find(validator_->schema, {url.data(), url.size()}));
        if (!packed) {
            if (validation_->refuse_unknown_packed && !url.empty())
                Report("its type " + ShownUrl(url) + " has no descriptors here");
            return;
        }
        if (n_packed_ == kPackedDepth) {
            Report("messages are packed in each other too deep");
            return;
        }
        n_packed_++;
        VisitUnit(packed, {value.data(), value.size()}, with_rules);
        n_packed_--;
    }

    void VisitMessage(const pb::Message &message, bool with_rules)
    {
        const pb::Descriptor *type = message.GetDescriptor();
        const TypeRules *rules = rules_for(validator_, type);
        if (depth_ == kTotalDepth) {
            Report("messages are nested too deep");
            return;
        }
        depth_++;
        with_rules = with_rules && !rules->is_disabled;
        CheckUnknown(message);
        if ((validation_->checks & UDPAI_CHECK_DEPRECATED) && !rules->deprecated.empty())
            CheckDeprecated(message, rules->deprecated);
        for (size_t i = 0; i < rules->fields.size() && !IsDone(); i++)
            VisitField(message, rules->fields[i], with_rules);
        for (size_t i = 0; with_rules && i < rules->required_oneofs.size(); i++)
            CheckOneof(message, rules->required_oneofs[i]);
        if (type->full_name() == "google.protobuf.Any")
            VisitAny(message, with_rules);
        depth_--;
    }

    void CheckUnknown(const pb::Message &message)
    {
        if (!(validation_->checks & UDPAI_CHECK_UNKNOWN_FIELDS))
            return;
        const pb::UnknownFieldSet &unknown = message.GetReflection()->GetUnknownFields(message);
        for (int i = 0; i < unknown.field_count() && !IsDone(); i++)
            Report("field number " + std::to_string(unknown.field(i).number()) + " is unknown to " +
                   message.GetDescriptor()->full_name() + " as this program's descriptors have it");
    }

    void CheckDeprecated(const pb::Message &message, const std::vector<DeprecatedField> &fields)
    {
        deprecated_.Look(message, fields, path_,
                         [this](const pb::FieldDescriptor *field, const std::string &reason) {
                             Step step(this, field->name());
                             Report(reason);
                         });
    }

    void CheckOneof(const pb::Message &message, const pb::OneofDescriptor *oneof)
    {
        if (message.GetReflection()->HasOneof(message, oneof))
            return;
        std::string members;
        for (int i = 0; i < oneof->field_count() && i < int(kMembersShown); i++)
            members += (i ? ", " : "") + oneof->field(i)->name();
        if (oneof->field_count() > int(kMembersShown))
            members += ", …";
        Step step(this, oneof->name());
        Report("is required: set one of " + members);
    }

    void VisitField(const pb::Message &message, const FieldRules &of, bool with_rules)
    {
        Step step(this, of.field->name());
        if (of.field->is_map())
            VisitMap(message, of, with_rules);
        else if (of.field->is_repeated())
            VisitList(message, of, with_rules);
        else if (message.GetReflection()->HasField(message, of.field))
            VisitValue(message, of.field, -1, with_rules ? &of.rules : nullptr, with_rules);
        else if (with_rules)
            VisitAbsent(message, of);
    }

    /* A field of proto3 that was left out has a value, unless it is optional or in a oneof. */
    void VisitAbsent(const pb::Message &message, const FieldRules &of)
    {
        if (of.field->containing_oneof())
            return;
        if (of.rules.required)
            Report("is required");
        else if (of.field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
            VisitValue(message, of.field, -1, &of.rules, true);
    }

    /* False: there are none, and that will do. @p what: how one is called, and several. */
    bool CheckCount(uint64_t n, const Rules &rules, const char *const what[2])
    {
        if (rules.ignore_empty && n == 0)
            return false;
        if (n < rules.min)
            Report("must have at least " + std::to_string(rules.min) + " " + what[rules.min != 1]);
        if (n > rules.max)
            Report("must have at most " + std::to_string(rules.max) + " " + what[rules.max != 1]);
        return true;
    }

    void VisitList(const pb::Message &message, const FieldRules &of, bool with_rules)
    {
        const pb::Reflection *reflection = message.GetReflection();
        int n = reflection->FieldSize(message, of.field);
        std::set<std::string> seen;
        if (with_rules && !CheckCount(uint64_t(n), of.rules, kItems))
            return;
        for (int i = 0; i < n && !IsDone(); i++) {
            Step step(this, i);
            if (with_rules && of.rules.unique && !seen.insert(Key(message, of.field, i)).second)
                Report("is in the list before: items must differ");
            VisitValue(message, of.field, i, with_rules ? of.rules.items.get() : nullptr,
                       with_rules);
        }
    }

    void VisitMap(const pb::Message &message, const FieldRules &of, bool with_rules)
    {
        const pb::Reflection *reflection = message.GetReflection();
        const pb::FieldDescriptor *key = of.field->message_type()->map_key();
        const pb::FieldDescriptor *value = of.field->message_type()->map_value();
        int n = reflection->FieldSize(message, of.field);
        if (with_rules && !CheckCount(uint64_t(n), of.rules, kEntries))
            return;
        for (int i = 0; i < n && !IsDone(); i++) {
            const pb::Message &entry = reflection->GetRepeatedMessage(message, of.field, i);
            std::string text = Key(entry, key, -1);
            Step step(this, udpai_quote({text.data(), text.size()}));
            if (with_rules && of.rules.keys)
                VisitKey(entry, key, *of.rules.keys);
            VisitValue(entry, value, -1, with_rules ? of.rules.values.get() : nullptr, with_rules);
        }
    }

    void VisitKey(const pb::Message &entry, const pb::FieldDescriptor *key, const Rules &rules)
    {
        std::string problem = CheckScalar(entry, key, -1, rules);
        if (!problem.empty())
            Report("the key " + problem);
    }

    /* @p rules may be NULL. */
    void VisitValue(const pb::Message &message,
                    const pb::FieldDescriptor *field,
                    int index,
                    const Rules *rules,
                    bool with_rules)
    {
        if (rules && rules->value) {
            std::string problem = CheckScalar(message, field, index, *rules);
            if (!problem.empty())
                Report(problem);
        }
        if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
            return;
        const pb::Reflection *reflection = message.GetReflection();
        VisitMessage(index < 0 ? reflection->GetMessage(message, field)
                               : reflection->GetRepeatedMessage(message, field, index),
                     with_rules && !(rules && rules->skip));
    }

    std::string CheckScalar(const pb::Message &message,
                            const pb::FieldDescriptor *field,
                            int index,
                            const Rules &rules)
    {
        std::string room;
        if (!rules.value)
            return room;
        if (!rules.wrapped)
            return rules.value->Check(Read(message, field, index, &room));
        const pb::Reflection *reflection = message.GetReflection();
        const pb::Message &wrapper = index < 0
                                         ? reflection->GetMessage(message, field)
                                         : reflection->GetRepeatedMessage(message, field, index);
        return rules.value->Check(Read(wrapper, rules.wrapped, -1, &room));
    }

    /* Texts are in *room, or in the message. */
    Scalar Read(const pb::Message &message,
                const pb::FieldDescriptor *field,
                int index,
                std::string *room) const
    {
        Scalar value;
        value.now_us = validation_->now_us;
        const pb::Reflection *reflection = message.GetReflection();
        switch (field->cpp_type()) {
        case pb::FieldDescriptor::CPPTYPE_STRING:
            value.text = index < 0
                             ? &reflection->GetStringReference(message, field, room)
                             : &reflection->GetRepeatedStringReference(message, field, index, room);
            break;
        case pb::FieldDescriptor::CPPTYPE_ENUM:
            value.enumeration = field->enum_type();
            value.integer = index < 0 ? reflection->GetEnumValue(message, field)
                                      : reflection->GetRepeatedEnumValue(message, field, index);
            break;
        case pb::FieldDescriptor::CPPTYPE_MESSAGE:
            ReadMessage(index < 0 ? reflection->GetMessage(message, field)
                                  : reflection->GetRepeatedMessage(message, field, index),
                        &value, room);
            break;
        default:
            ReadNumber(message, field, index, &value);
        }
        return value;
    }

    /* Of an Any its type URL counts, of others the time they mean. */
    static void ReadMessage(const pb::Message &message, Scalar *value, std::string *room)
    {
        value->text = room;
        if (message.GetDescriptor()->full_name() == "google.protobuf.Any")
            *room = message.GetReflection()->GetString(
                message, message.GetDescriptor()->FindFieldByNumber(1));
        else
            value->nanos = nanos_of(message);
    }

    static void ReadNumber(const pb::Message &message,
                           const pb::FieldDescriptor *field,
                           int index,
                           Scalar *value)
    {
        const pb::Reflection *r = message.GetReflection();
        bool one = index < 0;
        switch (field->cpp_type()) {
        case pb::FieldDescriptor::CPPTYPE_INT32:
            value->integer =
                one ? r->GetInt32(message, field) : r->GetRepeatedInt32(message, field, index);
            break;
        case pb::FieldDescriptor::CPPTYPE_INT64:
            value->integer =
                one ? r->GetInt64(message, field) : r->GetRepeatedInt64(message, field, index);
            break;
        case pb::FieldDescriptor::CPPTYPE_UINT32:
            value->natural =
                one ? r->GetUInt32(message, field) : r->GetRepeatedUInt32(message, field, index);
            break;
        case pb::FieldDescriptor::CPPTYPE_UINT64:
            value->natural =
                one ? r->GetUInt64(message, field) : r->GetRepeatedUInt64(message, field, index);
            break;
        case pb::FieldDescriptor::CPPTYPE_FLOAT:
            value->real = double(one ? r->GetFloat(message, field)
                                     : r->GetRepeatedFloat(message, field, index));
            break;
        case pb::FieldDescriptor::CPPTYPE_DOUBLE:
            value->real =
                one ? r->GetDouble(message, field) : r->GetRepeatedDouble(message, field, index);
            break;
        default:
            value->natural =
                one ? r->GetBool(message, field) : r->GetRepeatedBool(message, field, index);
        }
    }

    /* A text that is the same for equal values of a field, and no other. */
    std::string Key(const pb::Message &message, const pb::FieldDescriptor *field, int index) const
    {
        std::string room;
        if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
            pb::io::StringOutputStream output(&room);
            pb::io::CodedOutputStream stream(&output);
            stream.SetSerializationDeterministic(true);
            message.GetReflection()
                ->GetRepeatedMessage(message, field, index)
                .SerializePartialToCodedStream(&stream);
            stream.Trim();
            return room;
        }
        Scalar value = Read(message, field, index, &room);
        if (value.text)
            return *value.text;
        if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_DOUBLE ||
            field->cpp_type() == pb::FieldDescriptor::CPPTYPE_FLOAT)
            return std::string(reinterpret_cast<const char *>(&value.real), sizeof(value.real));
        return value.integer ? std::to_string(value.integer) : std::to_string(value.natural);
    }

    const udpai_validator *validator_;
    const udpai_validation *validation_;
    udpai_violation_fn report_;
    void *userdata_;
    Meter meter_;
    DeprecatedUses deprecated_;
    std::string path_;
    int depth_ = 0, n_packed_ = 0;
};

/* The first error, and how many there are. */
struct First {
    std::string text;
    size_t n = 0;
};

void
note_first(void *userdata, const char *path, const char *reason)
{
    First *first = static_cast<First *>(userdata);
    if (first->n++ == 0)
        first->text = *path ? std::string(path) + ": " + reason : std::string(reason);
}

} /* namespace */

udpa_err
udpai_validator_new(udpai_validator **ret_validator, udpai_schema *schema, udpa_error **ret_error)
{
    return guarded(ret_error, [&] {
        auto validator = std::make_unique<udpai_validator>();
        validator->rules_type =
            descriptor_of(udpai_schema_find(schema, UDPAI_STR("validate.FieldRules")));
        validator->schema = udpai_schema_ref(schema);
        *ret_validator = validator.release();
        return UDPA_OK;
    });
}

udpai_validator *
udpai_validator_ref(udpai_validator *validator)
{
    if (validator)
        validator->refs.fetch_add(1, std::memory_order_relaxed);
    return validator;
}

udpai_validator *
udpai_validator_unref(udpai_validator *validator)
{
    if (validator && validator->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        udpai_schema_unref(validator->schema);
        delete validator;
    }
    return nullptr;
}

udpa_err
udpai_validate(const udpai_validator *validator,
               udpai_str type_url,
               udpai_str value,
               const udpai_validation *validation,
               udpai_violation_fn report,
               void *userdata)
{
    if ((validation->checks & UDPAI_CHECK_RULES) && udpai_rules_absent())
        return UDPA_ERR_UNIMPLEMENTED;
    return guarded(nullptr, [&] {
        const pb::Descriptor *type = descriptor_of(udpai_schema_find(validator->schema, type_url));
        Walk walk(validator, validation, value.len, report, userdata);
        if (!type && validation->refuse_unknown_types)
            walk.Report("its type has no descriptors here, so it cannot be checked");
        else if (value.len > INT32_MAX)
            walk.Report("is larger than 2 GiB");
        else if (type && validation->checks)
            walk.Payload(type, value);
        walk.ReportDeprecated();
        return walk.n_reported ? UDPA_ERR_INVAL : UDPA_OK;
    });
}

udpa_err
udpai_validate_first(const udpai_validator *validator,
                     udpai_str type_url,
                     udpai_str value,
                     const udpai_validation *validation,
                     udpa_error **ret_error)
{
    return guarded(ret_error, [&] {
        First first;
        udpa_err err = udpai_validate(validator, type_url, value, validation, note_first, &first);
        if (err != UDPA_ERR_INVAL)
            return udpai_fail_code(ret_error, err);
        if (first.n == 1)
            return udpai_fail(ret_error, err, "%s", first.text.c_str());
        return udpai_fail(ret_error, err, "%s (and %zu more errors)", first.text.c_str(),
                          first.n - 1);
    });
}
