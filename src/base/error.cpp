#include "tessera/base/error.hpp"

namespace tessera {

namespace {

std::string at(const Position& position, const std::string& message) {
    const std::string place = position.text();
    return place.empty() ? message : place + ": " + message;
}

}  // namespace

std::string Position::text() const {
    std::string result = file;
    if (!file.empty() && line > 0) {
        result += ":" + std::to_string(line);
        if (column > 0) {
            result += ":" + std::to_string(column);
        }
    }
    return result;
}

UserError::UserError(const std::string& message) : Error(message) {}

UserError::UserError(const Position& position, const std::string& message)
    : Error(at(position, message)), position_(position) {}

int UserError::exit_code() const noexcept {
    return 2;
}

const std::optional<Position>& UserError::position() const noexcept {
    return position_;
}

int IllegalMapping::exit_code() const noexcept {
    return 1;
}

int NoLegalMapping::exit_code() const noexcept {
    return 1;
}

int LimitReached::exit_code() const noexcept {
    return 5;
}

int PluginError::exit_code() const noexcept {
    return 3;
}

Bug::Bug(const std::string& message)
    : Error("internal error: " + message +
            "\nThis is a bug in tessera, not in your input. Please report it with the command line "
            "and the input files.") {}

int Bug::exit_code() const noexcept {
    return 70;
}

}  // namespace tessera
