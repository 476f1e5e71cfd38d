// Runs the command line in this process, in a folder of its own.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.hpp"

namespace tessera::cli_test {

using Json = nlohmann::ordered_json;

struct Outcome {
    int code = 0;
    std::string out, err;

    Json json() const {
        return Json::parse(out);
    }
    bool says(const std::string& text) const {
        return err.find(text) != std::string::npos;
    }
    bool prints(const std::string& text) const {
        return out.find(text) != std::string::npos;
    }
};

using Args = std::vector<std::string>;

inline Args joined(Args first, const Args& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

inline Outcome invoke(const std::vector<std::string>& args) {
    std::ostringstream out, err;
    Outcome outcome;
    outcome.code = cli::run(args, out, err);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
}

/// A temporary folder that disappears with the object.
class Folder {
public:
    Folder() {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("tessera-cli-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
        std::filesystem::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string file(const std::string& name, const std::string& content) const {
        std::ofstream(path_ / name, std::ios::binary) << content;
        return (path_ / name).string();
    }
    std::string at(const std::string& name) const {
        return (path_ / name).string();
    }
    bool has(const std::string& name) const {
        return std::filesystem::exists(path_ / name);
    }
    std::string read(const std::string& name) const {
        std::ifstream file(path_ / name, std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                      std::filesystem::directory_iterator()));
    }

private:
    std::filesystem::path path_;
};

// A matmul of 16 x 8 x 4 on two memories; costs are easy to work out by hand.
inline constexpr const char* small_arch = R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    actions: [{name: read, energy: 10, throughput: 1}, {name: write, energy: 10, throughput: 1}]
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: Buffer
    size: 4096
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
    tensors: {may_keep: All}
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, throughput: 1}]
)";

inline constexpr const char* small_workload = R"(workload:
  rank_sizes: {M: 16, K: 8, N: 4}
  bits_per_value: {All: 1}
  einsums:
  - {name: Y, tensor_accesses: [{name: X, projection: [m, k]}, {name: W, projection: [k, n]},
     {name: Y, projection: [m, n], output: True}]}
  - {name: Z, tensor_accesses: [{name: Y, projection: [m, n]}, {name: Z, projection: [m, n], output: True}]}
)";

inline constexpr const char* fused_mapping = R"(mapping:
  nodes:
  - !Storage {tensors: [X, W, Z], component: Main}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Storage {tensors: [Y], component: Buffer}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
)";

inline constexpr const char* unfused_mapping = R"(mapping:
  nodes:
  - !Storage {tensors: [X, W, Y, Z], component: Main}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
    - !Nested
      nodes:
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
)";

}  // namespace tessera::cli_test
