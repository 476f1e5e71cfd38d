// Which folder may include what. Rooms stand in the order in which they are read: none includes
// from one further on.
//
//   include/tessera/<room>/   public: everybody, and other programs
//   src/include/<room>/       for the other rooms and the engine's plugins: ffm, looptree, timeloop
//   src/<room>/               private: the room itself (and tests)
//   plugins/<name>/           the plugin itself
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera::rooms_test {

/// Path from the top folder -> text.
using Files = std::map<std::string, std::string>;

/// In reading order. `plugins` are one room; `api` is the front door, include/tessera/tessera.hpp.
const std::vector<std::string>& rooms();

/// "base" of src/base/x.cpp; empty: no room, such as tests.
std::string room_of(const std::string& path);

/// One line per offence: "FILE includes FILE: why not".
std::vector<std::string> offences(const Files& files);

/// Folders of the program with more than `most` source files: "FOLDER has N files".
std::vector<std::string> crowded_folders(const Files& files, std::size_t most);

}  // namespace tessera::rooms_test
