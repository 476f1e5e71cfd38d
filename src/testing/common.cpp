#include "testing/common.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <limits>

#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::testing {

namespace {

std::string workload_text(int einsums, int m, int n) {
    std::string text =
        "workload:\n  iteration_space_shape:\n    m: 0 <= m < " + std::to_string(m) + "\n";
    for (int i = 0; i <= einsums; ++i) {
        const std::string v = "n" + std::to_string(i);
        text += "    " + v + ": 0 <= " + v + " < " + std::to_string(n) + "\n";
    }
    text += "  bits_per_value: {All: 8}\n  einsums:\n";
    for (int i = 0; i < einsums; ++i) {
        const std::string a = std::to_string(i), b = std::to_string(i + 1);
        text += "  - name: Matmul" + a + "\n    einsum: \"T" + b + "[m, n" + b + "] = T" + a +
                "[m, n" + a + "] * W" + a + "[n" + a + ", n" + b + "]\"\n    renames: {input: T" +
                a + ", weight: W" + a + ", output: T" + b + "}\n";
    }
    return text;
}

std::string architecture_text(double buffer_bits) {
    return R"(arch:
  nodes:
  - !Memory
    name: MainMemory
    size: inf
    actions:
    - {name: read, energy: 8e-12, throughput: 1e9}
    - {name: write, energy: 8e-12, throughput: 1e9}
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: Buffer
    size: )" +
           std::to_string(buffer_bits) + R"(
    actions:
    - {name: read, energy: 1e-12, throughput: 8e9}
    - {name: write, energy: 1e-12, throughput: 8e9}
    tensors: {keep: All}
  - !Compute
    name: Multiplier
    actions:
    - {name: compute, energy: 5e-13, throughput: 1e9}
)";
}

}  // namespace

SmallProblem::SmallProblem(int einsums, int m, int n, double buffer_bits)
    : workload_(workload::read_workload(spec::expand_document(
          spec::read_text(workload_text(einsums, m, n), "workload.yaml"), {}))),
      architecture_(std::make_unique<arch::Architecture>(
          spec::read_text(architecture_text(buffer_bits), "arch.yaml"),
          std::map<std::string, std::string>{})),
      problem_{&workload_, architecture_.get(), arch::Compat::none} {}

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

void refuse_vacuous(const std::vector<double>& costs) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const double cost : costs) {
        least = cost > 0 ? std::min(least, cost) : least;
        most = std::max(most, cost);
    }
    if (!(least < most)) {
        throw Bug("the problem of this kit is vacuous: all its mappings cost the same");
    }
}

namespace {

/// Values outside a knob's range are refused, the ends of the range make an object.
template <class Role>
void check_knobs(const std::string& name, Findings& findings) {
    const auto& registry = plugin::Registry<Role>::instance();
    const auto refused = [&](const plugin::Knob& knob, const std::string& value) {
        try {
            registry.create(name, {{knob.name, value}});
        } catch (const UserError&) {
            return true;
        }
        return false;
    };
    registry.create(name);
    for (const plugin::Knob& knob : registry.find(name)->knobs) {
        const bool numeric =
            knob.type == plugin::KnobType::integer || knob.type == plugin::KnobType::number;
        findings.expect(!knob.text.empty(), "knob " + knob.name + " has no text");
        if (!numeric && knob.choices.empty() && knob.type == plugin::KnobType::text) {
            continue;  // any text
        }
        findings.expect(refused(knob, "no such value"), "knob " + knob.name + " takes any text");
        if (!numeric) {
            continue;
        }
        const auto text = [&](double value) {
            char digits[64];
            std::snprintf(digits, sizeof digits,
                          knob.type == plugin::KnobType::integer ? "%.0f" : "%.17g", value);
            return std::string(digits);
        };
        for (const auto& [end, beyond] :
             {std::pair(knob.lowest, knob.lowest - 1), std::pair(knob.highest, knob.highest + 1)}) {
            if (std::isfinite(end)) {
                registry.create(name, {{knob.name, text(end)}});
                findings.expect(
                    refused(knob, text(beyond)),
                    "knob " + knob.name + " takes " + text(beyond) + ", out of its range");
            }
        }
    }
}

}  // namespace

template <class Role>
std::vector<Check> with_common_checks(const std::string& name, std::vector<Check> own,
                                      std::function<void()> work) {
    std::vector<Check> all = {
        {"name", "name() is the registered name",
         [=](Findings& f) {
             f.expect(plugin::Registry<Role>::instance().create(name)->name() == name,
                      "name() differs from the registered name");
         }},
        {"knobs", "values out of range are refused, the ends of the range work",
         [=](Findings& f) { check_knobs<Role>(name, f); }},
    };
    std::move(own.begin(), own.end(), std::back_inserter(all));
    all.push_back({"silent", "writes nothing", [work = std::move(work)](Findings& f) {
                       const Silence silence;
                       work();
                       f.expect(silence.written() == 0, "it writes to stdout or stderr");
                   }});
    return all;
}

template std::vector<Check> with_common_checks<model::CostModel>(const std::string&,
                                                                 std::vector<Check>,
                                                                 std::function<void()>);
template std::vector<Check> with_common_checks<search::SearchStrategy>(const std::string&,
                                                                       std::vector<Check>,
                                                                       std::function<void()>);
template std::vector<Check> with_common_checks<mapper::Mapper>(const std::string&,
                                                               std::vector<Check>,
                                                               std::function<void()>);

Silence::Silence() {
    std::fflush(nullptr);
    char name[] = "/tmp/tessera-silence-XXXXXX";
    file_ = ::mkstemp(name);
    ::unlink(name);
    out_ = ::dup(1);
    err_ = ::dup(2);
    ::dup2(file_, 1);
    ::dup2(file_, 2);
}

Silence::~Silence() {
    std::fflush(nullptr);
    ::dup2(out_, 1);
    ::dup2(err_, 2);
    for (const int each : {out_, err_, file_}) {
        ::close(each);
    }
}

long Silence::written() const {
    std::fflush(nullptr);
    return ::lseek(file_, 0, SEEK_END);
}

double cpu_s() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<std::string> findings_of(const Check& check) {
    Findings findings;
    try {
        check.run(findings);
    } catch (const std::exception& failure) {
        findings.expect(false, std::string("it threw: ") + failure.what());
    } catch (...) {
        findings.expect(false, "it threw an exception of unknown type");
    }
    return findings.list();
}

}  // namespace tessera::testing
