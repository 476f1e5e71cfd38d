#pragma once

#include <optional>
#include <stdexcept>
#include <string>

// Everything the library throws on purpose. Two kinds of failure are never mixed: what a user can
// mend (a UserError and its neighbours) and what only we can (a Bug). The exit code of the command
// line belongs to the class, so that no caller has to guess it.

namespace tessera {

/// A place in an input file. Lines and columns count from 1; 0 means unknown.
struct Position {
    std::string file;
    int line = 0;
    int column = 0;

    /// `file:line:column`, leaving out what is unknown; empty without a file.
    std::string text() const;
};

/// Base of all errors thrown on purpose; `what()` is complete and fit to be shown to a user.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    /// The program's exit code when this error ends it.
    virtual int exit_code() const noexcept = 0;
};

/// The input is wrong. The message names what was expected and the remedy; with a position,
/// `what()` reads `file:line:column: message`.
class UserError : public Error {
public:
    explicit UserError(const std::string& message);
    UserError(const Position& position, const std::string& message);

    int exit_code() const noexcept override;
    const std::optional<Position>& position() const noexcept;

private:
    std::optional<Position> position_;
};

/// A mapping given by the user cannot run on the architecture.
class IllegalMapping : public Error {
public:
    using Error::Error;
    int exit_code() const noexcept override;
};

/// No mapping meets all constraints; the message names the one that none meets.
class NoLegalMapping : public Error {
public:
    using Error::Error;
    int exit_code() const noexcept override;
};

/// A limit (time, memory) was hit before any legal mapping was found.
class LimitReached : public Error {
public:
    using Error::Error;
    int exit_code() const noexcept override;
};

/// A plugin is unknown, does not fit this program, or broke its contract.
class PluginError : public Error {
public:
    using Error::Error;
    int exit_code() const noexcept override;
};

/// An invariant of our own does not hold. `what()` adds a request to report it.
class Bug : public Error {
public:
    explicit Bug(const std::string& message);
    int exit_code() const noexcept override;
};

}  // namespace tessera
