#pragma once

#include "tessera/base/error.hpp"

namespace tessera::timeloop {

/// Runs `body`; an error of it that names no place is one of the section at `where`.
template <class Body>
auto with_place(const Position& where, const Body& body) {
    try {
        return body();
    } catch (const UserError& error) {
        if (error.position()) {
            throw;
        }
        throw UserError(where, error.what());
    }
}

}  // namespace tessera::timeloop
