#include "field_search.hpp"

#include <mutex>
#include <ostream>
#include <sstream>
#include <streambuf>

#include "base/parsed_json.hpp"
#include "base/process_pool.hpp"
#include "cli/cli.hpp"
#include "cli/timeloop/timeloop.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

/// Passes whole lines on to a pipe. Thread rule: any thread.
class PipeLines : public std::streambuf {
public:
    explicit PipeLines(int pipe) : pipe_(pipe) {}

private:
    int_type overflow(int_type c) override {
        const char one = traits_type::to_char_type(c);
        xsputn(&one, 1);
        return c;
    }
    std::streamsize xsputn(const char* text, std::streamsize n) override {
        const std::lock_guard guard(lock_);
        line_.append(text, static_cast<std::size_t>(n));
        const std::size_t end = line_.rfind('\n');
        if (end != std::string::npos) {
            base::write_to_pipe(pipe_, line_.substr(0, end + 1));
            line_.erase(0, end + 1);
        }
        return n;
    }

    std::mutex lock_;
    const int pipe_;
    std::string line_;
};

}  // namespace

std::string run_field_search(const std::vector<std::string>& words, int pipe) {
    std::ostringstream out;
    PipeLines lines(pipe);
    std::ostream err(&lines);
    base::ParsedJson answer;
    try {
        if (!timeloop_inputs("compare", words, out, err)) {
            compare_command(words, out, err);
        }
        const base::ParsedJson document = base::parsed_json(out.str());
        answer = document.at("contenders").at(0).at("trials").at(0);
    } catch (const Error& error) {
        answer = {{"status", "failed"}, {"error", error.what()}};
    } catch (const std::exception& error) {
        answer = {{"status", "failed"},
                  {"error", std::string("an internal error: ") + error.what()}};
    }
    return answer.dump(-1, ' ', false, base::ParsedJson::error_handler_t::replace);
}

}  // namespace tessera::cli
