/* SPDX-License-Identifier: Apache-2.0 */
/* message.h by libprotobuf's dynamic messages, json_util and TextFormat.
 *
 * json_util knows an Any only by one prefix and writes its contents as they come. So it never sees
 * one when reading: there an Any is an ordinary message with bytes that the encoder has made. When
 * writing it does, and what has no descriptor is made to look like a message of one field. */
#include "codec/meter.hh"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/type.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <google/protobuf/wrappers.pb.h>

#include "codec/source.h"

using namespace udpai;

namespace
{

constexpr char kPrefix[] = "type.googleapis.com/";
constexpr char kAnyUrl[] = "type.googleapis.com/google.protobuf.Any";
constexpr char kPlainAnyUrl[] = "type.googleapis.com/udpai.PlainAny";
/* Messages in each other, Any contents included. A document of the greatest depth makes fewer. */
constexpr int kTotalDepth = 200;
constexpr char kTooLarge[] = " is too large in memory, for its size";

std::string
name_of_url(const std::string &url)
{
    return url.substr(url.rfind('/') + 1);
}

/* json_util's view of the types. */
class Resolver : public pb::util::TypeResolver
{
  public:
    explicit Resolver(const pb::DescriptorPool *pool)
        : base_(pb::util::NewTypeResolverForDescriptorPool("type.googleapis.com", pool))
    {
    }

    pb::util::Status ResolveEnumType(const std::string &url, pb::Enum *type) override
    {
        return base_->ResolveEnumType(kPrefix + name_of_url(url), type);
    }

  protected:
    pb::util::Status Resolve(const std::string &url, pb::Type *type)
    {
        return base_->ResolveMessageType(kPrefix + name_of_url(url), type);
    }

  private:
    std::unique_ptr<pb::util::TypeResolver> base_;
};

void
add_type_field(pb::Type *type, const char *name, int number, pb::Field::Kind kind)
{
    pb::Field *field = type->add_fields();
    field->set_name(name);
    field->set_json_name(name);
    field->set_number(number);
    field->set_kind(kind);
    field->set_cardinality(pb::Field::CARDINALITY_OPTIONAL);
}

/* For reading: an Any is a message like any other, with the fields it has on the wire. */
class ReadResolver : public Resolver
{
  public:
    using Resolver::Resolver;

    pb::util::Status ResolveMessageType(const std::string &url, pb::Type *type) override
    {
        if (url == kPlainAnyUrl) {
            type->set_name("udpai.PlainAny");
            add_type_field(type, "type_url", 1, pb::Field::TYPE_STRING);
            add_type_field(type, "value", 2, pb::Field::TYPE_BYTES);
            return pb::util::Status();
        }
        pb::util::Status status = Resolve(url, type);
        for (pb::Field &field : *type->mutable_fields())
            if (field.type_url() == kAnyUrl)
                field.set_type_url(kPlainAnyUrl);
        return status;
    }
};

/* For writing: what has no descriptor is a message of one field, in which AnyWalk has put its
 * bytes. */
class WriteResolver : public Resolver
{
  public:
    WriteResolver(const pb::DescriptorPool *pool) : Resolver(pool), pool_(pool)
    {
    }

    pb::util::Status ResolveMessageType(const std::string &url, pb::Type *type) override
    {
        if (pool_->FindMessageTypeByName(name_of_url(url)))
            return Resolve(url, type);
        type->set_name("udpai.Opaque");
        add_type_field(type, "value", 1, pb::Field::TYPE_BYTES);
        return pb::util::Status();
    }

  private:
    const pb::DescriptorPool *pool_;
};

using MessagePtr = std::unique_ptr<pb::Message>;

MessagePtr
new_message(const udpai_schema *schema, const pb::Descriptor *type)
{
    return MessagePtr(schema->world->factory.GetPrototype(type)->New());
}

bool
parse(pb::Message *message, const char *data, size_t size)
{
    pb::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(data), int(size));
    stream.SetRecursionLimit(UDPAI_DOCUMENT_DEPTH);
    return message->ParsePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

std::string
canonical(const pb::Message &message)
{
    std::string bytes;
    pb::io::StringOutputStream output(&bytes);
    pb::io::CodedOutputStream stream(&output);
    stream.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&stream);
    stream.Trim();
    return bytes;
}

/* What cannot be parsed has room: parsing reports it. */
bool
has_room(Meter *meter, const pb::Descriptor *type, udpai_str bytes)
{
    return meter->Take(type, bytes, 1) || !meter->is_empty;
}

/* Visits every Any in a message, Any in Any included. */
class AnyWalk
{
  public:
    enum class Aim {
        kMeasure,     /* only see that it is not too deep */
        kWrapUnknown, /* for WriteResolver */
        kComplete,    /* see that everything in it is known */
        kCanonical,
    };

    AnyWalk(const udpai_schema *schema, Aim aim, Meter *meter = nullptr)
        : schema_(schema), aim_(aim), meter_(meter)
    {
    }

    bool Visit(pb::Message *message, int depth)
    {
        if (depth > kTotalDepth) {
            problem = "messages are nested too deep";
            return false;
        }
        if (message->GetDescriptor()->full_name() == "google.protobuf.Any")
            return VisitAny(message, depth);
        const pb::Reflection *reflection = message->GetReflection();
        if (aim_ == Aim::kComplete && !CheckFields(*message, reflection))
            return false;
        std::vector<const pb::FieldDescriptor *> fields;
        reflection->ListFields(*message, &fields);
        for (const pb::FieldDescriptor *field : fields)
            if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE &&
                !VisitField(message, reflection, field, depth + 1))
                return false;
        return true;
    }

    std::string problem;
    bool is_unknown = false; /* the problem: descriptors are missing */

  private:
    bool CheckFields(const pb::Message &message, const pb::Reflection *reflection)
    {
        const pb::UnknownFieldSet &unknown = reflection->GetUnknownFields(message);
        if (unknown.empty())
            return true;
        is_unknown = true;
        problem = "field " + std::to_string(unknown.field(0).number()) + " of " +
                  message.GetDescriptor()->full_name() +
                  " is not known: load newer descriptors with --descriptors FILE";
        return false;
    }

    bool FailType(const std::string &name)
    {
        is_unknown = true;
        problem = "message type '" + name +
                  "' is not known: load its descriptors with --descriptors FILE";
        return false;
    }

    bool VisitField(pb::Message *message,
                    const pb::Reflection *reflection,
                    const pb::FieldDescriptor *field,
                    int depth)
    {
        if (!field->is_repeated())
            return Visit(reflection->MutableMessage(message, field), depth);
        int size = reflection->FieldSize(*message, field);
        for (int i = 0; i < size; i++)
            if (!Visit(reflection->MutableRepeatedMessage(message, field, i), depth))
                return false;
        return true;
    }

    bool VisitAny(pb::Message *any, int depth)
    {
        const pb::Reflection *reflection = any->GetReflection();
        const pb::FieldDescriptor *value_field = any->GetDescriptor()->FindFieldByNumber(2);
        std::string url = reflection->GetString(*any, any->GetDescriptor()->FindFieldByNumber(1));
        std::string value = reflection->GetString(*any, value_field);
        const pb::Descriptor *type = schema_->world->pool.FindMessageTypeByName(name_of_url(url));
        if (!type) {
            if (aim_ == Aim::kComplete && !url.empty())
                return FailType(name_of_url(url));
            if (aim_ == Aim::kWrapUnknown && !value.empty())
                reflection->SetString(any, value_field, Wrap(value));
            return true;
        }
        if (meter_ && !has_room(meter_, type, {value.data(), value.size()})) {
            problem = "what is packed in an Any as " + type->full_name() + kTooLarge;
            return false;
        }
        MessagePtr content = new_message(schema_, type);
        if (!parse(content.get(), value.data(), value.size())) {
            problem = "the bytes in an Any are no valid " + type->full_name();
            return aim_ == Aim::kMeasure;
        }
        if (!Visit(content.get(), depth + 1))
            return false;
        if (aim_ != Aim::kMeasure)
            reflection->SetString(any, value_field, canonical(*content));
        return true;
    }

    /* A message with @p value as field 1. */
    static std::string Wrap(const std::string &value)
    {
        pb::BytesValue wrapped;
        wrapped.set_value(value);
        return wrapped.SerializeAsString();
    }

    const udpai_schema *schema_;
    Aim aim_;
    Meter *meter_; /* NULL: it is taken as it is */
};

/* Sizes are int in libprotobuf. */
udpa_err
too_large(udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "a message of more than 2 GiB");
}

udpa_err
bytes_from(const std::string &data, udpa_bytes **ret_bytes, udpa_error **ret_error)
{
    return udpai_fail_code(ret_error, udpa_bytes_new(ret_bytes, data.data(), data.size()));
}

udpa_err
text_from(const std::string &data, char **ret_text, udpa_error **ret_error)
{
    char *text = udpai_strndup(data.data(), data.size());
    if (!text)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_text = text;
    return UDPA_OK;
}

/* json_util's messages begin with "(path)". */
char *
path_of(const std::string &message)
{
    size_t end = message.find("): ");
    if (message.empty() || message[0] != '(' || end == std::string::npos)
        return nullptr;
    return udpai_strndup(message.data() + 1, end - 1);
}

udpa_err
load(const udpai_schema *schema,
     const pb::Descriptor *type,
     udpai_str bytes,
     AnyWalk::Aim aim,
     MessagePtr *ret_message,
     udpa_error **ret_error)
{
    MessagePtr message = new_message(schema, type);
    Meter meter(bytes.len);
    bool is_measured = aim == AnyWalk::Aim::kComplete; /* a node's, of what others have sent */
    if (is_measured && !has_room(&meter, type, bytes))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s%s", type->full_name().c_str(), kTooLarge);
    if (bytes.len > INT32_MAX || !parse(message.get(), bytes.data, bytes.len))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "%zu bytes are no valid %s", bytes.len,
                          type->full_name().c_str());
    AnyWalk walk(schema, aim, is_measured ? &meter : nullptr);
    if (!walk.Visit(message.get(), 1))
        return udpai_fail(ret_error,
                          walk.is_unknown  ? UDPA_ERR_NOT_FOUND
                          : meter.is_empty ? UDPA_ERR_LIMIT
                                           : UDPA_ERR_MALFORMED,
                          "%s: %s", type->full_name().c_str(), walk.problem.c_str());
    *ret_message = std::move(message);
    return UDPA_OK;
}

/* Text writes a prefix as names with dots between and one '/': others are not expanded. */
bool
text_can_expand(const std::string &prefix)
{
    return prefix.find('/') == prefix.size() - 1 &&
           prefix.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_./") == std::string::npos &&
           (prefix[0] < '0' || prefix[0] > '9') && prefix[0] != '.' &&
           prefix.find("..") == std::string::npos && prefix.find("./") == std::string::npos &&
           prefix.size() > 1;
}

class Finder : public pb::TextFormat::Finder
{
  public:
    explicit Finder(const pb::DescriptorPool *pool) : pool_(pool)
    {
    }

    const pb::Descriptor *FindAnyType(const pb::Message &,
                                      const std::string &prefix,
                                      const std::string &name) const override
    {
        const pb::Descriptor *type =
            text_can_expand(prefix) ? pool_->FindMessageTypeByName(name) : nullptr;
        if (!type && missing.empty())
            missing = name;
        return type;
    }

    mutable std::string missing;

  private:
    const pb::DescriptorPool *pool_;
};

class TextErrors : public pb::io::ErrorCollector
{
  public:
    void AddError(int line, pb::io::ColumnNumber column, const std::string &message) override
    {
        if (!first.empty())
            return;
        first = message;
        at_line = line < 0 ? 0 : unsigned(line) + 1;
        at_column = line < 0 ? 0 : unsigned(column) + 1;
    }

    void AddWarning(int, pb::io::ColumnNumber, const std::string &) override
    {
    }

    std::string first;
    unsigned at_line = 0, at_column = 0;
};

bool
note_lines(udpai_text_notes *notes,
           const pb::Message &message,
           const pb::TextFormat::ParseInfoTree &places)
{
    const pb::FieldDescriptor *field = message.GetDescriptor()->FindFieldByName(notes->locate);
    int n = field && field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 0;
    notes->lines = static_cast<uint32_t *>(udpai_alloc_array(size_t(n), sizeof(uint32_t)));
    if (!notes->lines)
        return false;
    uint32_t line = 0;
    for (int i = 0; i < n; i++) {
        int found = places.GetLocation(field, i).line;
        line = found < 0 ? line : uint32_t(found) + 1; /* of [a, b] it knows the first alone */
        notes->lines[i] = line;
    }
    notes->n_lines = size_t(n);
    return true;
}

udpa_err
text_failed(const TextErrors &errors,
            const Finder &finder,
            udpai_text_notes *notes,
            udpa_error **ret_error)
{
    notes->line = errors.at_line;
    notes->column = errors.at_column;
    if (!finder.missing.empty())
        notes->missing_type = udpai_strndup(finder.missing.data(), finder.missing.size());
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", errors.first.c_str());
}

udpa_err
from_text(const udpai_schema *schema,
          pb::Message *message,
          udpai_str text,
          udpai_text_notes *notes,
          udpa_error **ret_error)
{
    TextErrors errors;
    Finder finder(&schema->world->pool);
    pb::TextFormat::ParseInfoTree places;
    pb::TextFormat::Parser parser;
    parser.RecordErrorsTo(&errors);
    parser.SetFinder(&finder);
    parser.SetRecursionLimit(UDPAI_DOCUMENT_DEPTH);
    parser.WriteLocationsTo(&places);
    pb::io::ArrayInputStream input(text.data, int(text.len));
    if (!parser.Parse(&input, message))
        return text_failed(errors, finder, notes, ret_error);
    AnyWalk walk(schema, AnyWalk::Aim::kCanonical);
    if (!walk.Visit(message, 1))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", walk.problem.c_str());
    if (notes->locate && !note_lines(notes, *message, places))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return UDPA_OK;
}

} /* namespace */

std::unique_ptr<pb::util::TypeResolver>
udpai::new_read_resolver(const pb::DescriptorPool *pool)
{
    return std::make_unique<ReadResolver>(pool);
}

std::unique_ptr<pb::util::TypeResolver>
udpai::new_write_resolver(const pb::DescriptorPool *pool)
{
    return std::make_unique<WriteResolver>(pool);
}

udpa_err
udpai_message_from_json(const udpai_schema *schema,
                        const udpai_type *type,
                        udpai_str json,
                        udpa_bytes **ret_bytes,
                        char **ret_where,
                        udpa_error **ret_error)
{
    *ret_where = nullptr;
    return guarded(ret_error, [&] {
        if (json.len > INT32_MAX)
            return too_large(ret_error);
        const pb::Descriptor *descriptor = descriptor_of(type);
        std::string bytes;
        pb::util::Status status = pb::util::JsonToBinaryString(
            schema->world->read_resolver.get(), kPrefix + descriptor->full_name(),
            pb::StringPiece(json.data, json.len), &bytes, pb::util::JsonParseOptions());
        if (!status.ok()) {
            std::string reason(status.message());
            *ret_where = path_of(reason);
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", reason.c_str());
        }
        MessagePtr message = new_message(schema, descriptor);
        if (!parse(message.get(), bytes.data(), bytes.size()))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "messages are nested deeper than %d levels", UDPAI_DOCUMENT_DEPTH);
        return bytes_from(canonical(*message), ret_bytes, ret_error);
    });
}

udpa_err
udpai_message_to_json(const udpai_schema *schema,
                      const udpai_type *type,
                      udpai_str bytes,
                      udpai_json_style style,
                      char **ret_json,
                      udpa_error **ret_error)
{
    return guarded(ret_error, [&] {
        const pb::Descriptor *descriptor = descriptor_of(type);
        MessagePtr message;
        udpa_err err = load(schema, descriptor, bytes,
                            style == UDPAI_JSON_COMPLETE ? AnyWalk::Aim::kComplete
                                                         : AnyWalk::Aim::kWrapUnknown,
                            &message, ret_error);
        if (err != UDPA_OK)
            return err;
        pb::util::JsonPrintOptions options;
        options.add_whitespace = style == UDPAI_JSON_INDENTED;
        options.preserve_proto_field_names = style == UDPAI_JSON_ORIGINAL_NAMES;
        std::string json;
        pb::util::Status status = pb::util::BinaryToJsonString(schema->world->write_resolver.get(),
                                                               kPrefix + descriptor->full_name(),
                                                               canonical(*message), &json, options);
        if (!status.ok())
            return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "%s cannot be shown as JSON: %s",
                              descriptor->full_name().c_str(),
                              std::string(status.message()).c_str());
        return text_from(json, ret_json, ret_error);
    });
}

udpa_err
udpai_message_from_text(const udpai_schema *schema,
                        const udpai_type *type,
                        udpai_str text,
                        udpa_bytes **ret_bytes,
                        udpai_text_notes *notes,
                        udpa_error **ret_error)
{
    return guarded(ret_error, [&] {
        if (text.len > INT32_MAX)
            return too_large(ret_error);
        MessagePtr message = new_message(schema, descriptor_of(type));
        udpa_err err = from_text(schema, message.get(), text, notes, ret_error);
        if (err != UDPA_OK)
            return err;
        std::string bytes = canonical(*message);
        if (!parse(message.get(), bytes.data(), bytes.size())) /* \377 and the like */
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "a string is not UTF-8 text");
        return bytes_from(bytes, ret_bytes, ret_error);
    });
}

udpa_err
udpai_message_to_text(const udpai_schema *schema,
                      const udpai_type *type,
                      udpai_str bytes,
                      char **ret_text,
                      udpa_error **ret_error)
{
    return guarded(ret_error, [&] {
        MessagePtr message;
        udpa_err err =
            load(schema, descriptor_of(type), bytes, AnyWalk::Aim::kMeasure, &message, ret_error);
        if (err != UDPA_OK)
            return err;
        Finder finder(&schema->world->pool);
        pb::TextFormat::Printer printer;
        printer.SetExpandAny(true);
        printer.SetFinder(&finder);
        printer.SetUseUtf8StringEscaping(true);
        std::string text;
        if (!printer.PrintToString(*message, &text))
            return udpai_fail(ret_error, UDPA_ERR_INTERNAL, "%s cannot be shown as text",
                              descriptor_of(type)->full_name().c_str());
        return text_from(text, ret_text, ret_error);
    });
}
