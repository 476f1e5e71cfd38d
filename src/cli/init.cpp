// tessera init: a commented file to begin with.
#include <ostream>

#include "base/directory.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera init arch my-chip.yaml
  tessera init workload my-layer.yaml
  tessera map -a my-chip.yaml -w my-layer.yaml
)";

constexpr const char* architecture =
    R"(# A chip with two levels of memory and an array of multipliers. All keys: docs/formats.md.
# Try it: tessera check -a THIS_FILE -w matmul; tessera map -a THIS_FILE -w matmul

variables:  # -D NAME=VALUE on the command line changes them
  BUFFER_SIZE: 1024 * 1024 * 8  # bits; any expression may use earlier variables
  ROWS: 16
  COLUMNS: 16
  CLOCK: 1e9  # Hz

arch:
  nodes:  # from the outermost memory to the compute
  - !Memory
    name: DRAM
    size: inf  # bits of one instance
    bits_per_action: 64  # energy and throughput below are for as many bits
    actions:
    - {name: read, energy: 512e-12, throughput: 200e6}  # J; actions per second: 12.8e9 bit/s
    - {name: write, energy: 512e-12, throughput: 200e6}
    # What it must hold, and what it may hold besides. All, Inputs, Outputs, Intermediates are sets;
    # ~ is "all but", | and & join sets.
    tensors: {keep: ~Intermediates, may_keep: All}

  - !Memory
    name: Buffer
    size: BUFFER_SIZE
    bits_per_action: 64
    leak_power: 0.01  # W, as long as the workload runs
    actions:
    - {name: read, energy: 12e-12, throughput: CLOCK}
    - {name: write, energy: 14e-12, throughput: CLOCK}
    tensors: {keep: ~DRAM, may_keep: All}

  - !Container  # what follows is there ROWS * COLUMNS times
    name: Element
    spatial:
    - {name: row, fanout: ROWS}  # add `reuse: output` to allow only loops along which it is reduced
    - {name: column, fanout: COLUMNS}

  - !Memory
    name: Register
    size: 3 * 64 * 8  # bits of each element
    actions:
    - {name: read, energy: 5e-15, throughput: inf}  # per bit
    - {name: write, energy: 5e-15, throughput: inf}
    tensors: {may_keep: All}

  - !Compute
    name: MAC
    actions:
    - {name: compute, energy: 0.2e-12, throughput: CLOCK}  # of each element
)";

constexpr const char* workload =
    R"(# Two layers: a convolution and a matrix product over its channels. All keys: docs/formats.md.
# Try it: tessera check -w THIS_FILE; tessera map -a eyeriss -w THIS_FILE

variables:  # -D NAME=VALUE on the command line changes them
  BATCH: 1
  SIZE: 28  # height and width of the result
  CHANNELS: 32
  KERNEL: 3
  BITS: 8  # per value

workload:
  # How many values each variable of the equations takes.
  iteration_space_shape:
    b: 0 <= b < BATCH
    p: 0 <= p < SIZE
    q: 0 <= q < SIZE
    r: 0 <= r < KERNEL
    s: 0 <= s < KERNEL
    c: 0 <= c < CHANNELS
    m: 0 <= m < 2 * CHANNELS
    n: 0 <= n < CHANNELS
  bits_per_value: {All: BITS}  # or by tensor: {Image: 8, ~Image: 16}
  einsums:
  # Result[ranks] = what is read, multiplied and summed over every variable that the result lacks.
  # `H: p + r`: rank H of Image is indexed by a sum, as in a convolution.
  - name: Conv
    einsum: "Features[b, p, q, m] = Image[b, H: p + r, W: q + s, c] * Filter[r, s, c, m]"
    renames: {input: Image, weight: Filter, output: Features}  # how architectures ask for tensors
  - name: Project
    einsum: "Result[b, p, q, n] = Features[b, p, q, m] * Weights[m, n]"
    renames: {input: Features, weight: Weights, output: Result}
)";

}  // namespace

CommandText init_text() {
    options::Description result("Options", 100);
    result.add_options()("force", options::flag(), "replace the file if it exists");
    add_inputs(result, "");
    return {"arch|workload [FILE] [options]", examples, result};
}

int init_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const CommandText text = init_text();
    std::vector<std::string> words, rest;
    for (const std::string& word : args) {
        (word.empty() || word[0] != '-' ? words : rest).push_back(word);
    }
    const Arguments arguments("init", rest, text.options);
    if (arguments.flag("help")) {
        print_help(out, text.examples, text.options);
        return ExitCode::ok;
    }
    if (words.empty() || words.size() > 2 || (words[0] != "arch" && words[0] != "workload")) {
        throw UserError(
            "tessera init takes arch or workload, then a file (none: stdout); see "
            "tessera init --help");
    }
    const std::string content = words[0] == "arch" ? architecture : workload;
    if (words.size() == 1) {
        out << content;
        return ExitCode::ok;
    }
    const std::filesystem::path path = words[1];
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) && !arguments.flag("force")) {
        throw UserError(path.string() + ": is there already; choose another name, or --force");
    }
    base::Directory(path.has_parent_path() ? path.parent_path() : ".")
        .write(path.filename().string(), content);
    err << "Written to " << path.string() << "; next: tessera check -"
        << (words[0] == "arch" ? "a " : "w ") << path.string() << "\n";
    return ExitCode::ok;
}

}  // namespace tessera::cli
