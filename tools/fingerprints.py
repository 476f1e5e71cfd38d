#!/usr/bin/env python3
"""Fingerprints of the headers that a plugin and its host share.

    tools/fingerprints.py INCLUDE FILE    writes FILE from the headers below INCLUDE

For each role: every header that its contract reaches, with a hash over its tokens. Comments and
white space do not count; everything else does, inline functions and default arguments too.
"""
import hashlib
import os
import re
import sys

# What contracts hand over by reference and do not include.
REFERRED = ['tessera/workload/workload.hpp', 'tessera/spec/directives.hpp']

CONTRACTS = {
    'cost_model': ['tessera/model/cost_model.hpp', *REFERRED],
    'search_strategy': ['tessera/search/strategy.hpp', *REFERRED],
    'mapper': ['tessera/mapper/mapper.hpp', 'tessera/telemetry/recorder.hpp', *REFERRED],
}

COMMENT = r'//[^\n]*|/\*.*?\*/'
TOKEN = r'''"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'|\w+(?:'\w+)*|[^\s\w]'''


def tokens(text):
    """The tokens of C++ text; a comment mark inside a string begins no comment."""
    found = re.finditer('(%s)|%s' % (COMMENT, TOKEN), text, re.DOTALL)
    return [match.group() for match in found if match.group(1) is None]


def fingerprint(text):
    return hashlib.blake2b('\n'.join(tokens(text)).encode(), digest_size=8).hexdigest()


def headers_below(include):
    """The texts of all headers: name -> text."""
    found = {}
    for where, _, names in os.walk(os.path.join(include, 'tessera')):
        for name in names:
            path = os.path.join(where, name)
            with open(path, encoding='utf-8') as file:
                found[os.path.relpath(path, include)] = file.read()
    return found


def reached(headers, name, found):
    """Adds a header and all that it includes of `headers` to `found`."""
    if name in headers and name not in found:
        found.add(name)
        for other in re.findall(r'^\s*#\s*include\s*["<](tessera/[^">]+)', headers[name], re.M):
            reached(headers, other, found)
    return found


def document(headers):
    """The text of fingerprints.hpp for these headers: name -> text."""
    lines = ['// Made by the build from the headers that plugins and their host share.',
             '#pragma once', '', '#include <string_view>', '', 'namespace tessera::plugin {', '',
             'struct HeaderPrint {', '    std::string_view header, fingerprint;', '};']
    for role, contracts in CONTRACTS.items():
        found = set()
        for contract in contracts:
            if contract not in reached(headers, contract, found):
                sys.exit('fingerprints: %s is missing' % contract)
        lines += ['', 'inline constexpr HeaderPrint %s_headers[] = {' % role]
        lines += ['    {"%s", "%s"},' % (name, fingerprint(headers[name]))
                  for name in sorted(found)]
        lines += ['};']
    return '\n'.join(lines + ['', '}  // namespace tessera::plugin', ''])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True)
    with open(sys.argv[2], 'w', encoding='utf-8') as file:
        file.write(document(headers_below(sys.argv[1])))


if __name__ == '__main__':
    main()
