#include "tessera/spec/value.hpp"

#include <bit>
#include <charconv>
#include <cmath>

#include "spec/limits.hpp"

namespace tessera::spec {

namespace {

std::uint64_t all_bits(std::size_t count) {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

std::string set_text(std::uint64_t mask, const std::vector<std::string>* names) {
    std::string result = "{";
    for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
        const bool named = names != nullptr && bit < names->size();
        result += (result.size() == 1 ? "" : ", ") + (named ? (*names)[bit] : std::to_string(bit));
    }
    return result + "}";
}

}  // namespace

std::uint64_t SetUniverse::all_tensors() const {
    return all_bits(tensors.size());
}

std::uint64_t SetUniverse::all_rank_variables() const {
    return all_bits(rank_variables.size());
}

Formula Formula::constant(double value) {
    return {{{Op::constant, value, 0}}};
}

Formula Formula::leaf(int index) {
    return {{{Op::leaf, 0, index}}};
}

Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::list(std::vector<Value> items) {
    return Value(std::make_shared<const std::vector<Value>>(std::move(items)));
}

std::string number_text(double value) {
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return error == std::errc() ? std::string(buffer, end) : std::to_string(value);
}

std::string Value::type_name() const {
    static const char* const names[] = {"a number",
                                        "True or False",
                                        "text",
                                        "a set of tensors",
                                        "a set of rank variables",
                                        "a list",
                                        "",
                                        "a formula of action counts"};
    return is<ObjectPtr>() ? as<ObjectPtr>()->type_name() : names[data_.index()];
}

std::string Value::text(const SetUniverse* universe) const {
    if (is<double>()) {
        return number_text(as<double>());
    }
    if (is<bool>()) {
        return as<bool>() ? "True" : "False";
    }
    if (is<std::string>()) {
        return as<std::string>();
    }
    if (is<TensorSet>()) {
        return set_text(as<TensorSet>().mask, universe ? &universe->tensors : nullptr);
    }
    if (is<RankVariableSet>()) {
        return set_text(as<RankVariableSet>().mask, universe ? &universe->rank_variables : nullptr);
    }
    if (is<List>()) {
        // Lists in lists may be shared, so that the whole text could be without end.
        std::string result = "[";
        for (const Value& item : *as<List>()) {
            if (result.size() > max_quote) {
                return result + ", ...]";
            }
            result += (result.size() == 1 ? "" : ", ") + item.text(universe);
        }
        return result + "]";
    }
    return type_name();
}

}  // namespace tessera::spec
