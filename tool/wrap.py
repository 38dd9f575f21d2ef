#!/usr/bin/env python3
"""Wraps comments at 100 columns, before clang-format sees them (its own reflow leaves orphaned words).

A comment line that is too long passes its last words on to the next line of the same paragraph; a trailing
comment that is too long moves above its code. Lines that begin with more than one blank behind // (drawings,
lists of fields) are left alone.   tool/wrap.py [--check] FILE...
"""
import re
import sys

WIDTH = 100
COMMENT = re.compile(r'^(\s*)//( ?)(\S.*)$')


def split_trailing(line):
    """(code, comment) of a line with a comment behind code, else None."""
    quote = None
    i = 0
    while i < len(line) - 1:
        c = line[i]
        if quote:
            if c == '\\':
                i += 1
            elif c == quote:
                quote = None
        elif c in '"\'':
            quote = c
        elif line.startswith('//', i):
            code = line[:i].rstrip()
            return (code, line[i + 2:].strip()) if code else None
        elif line.startswith('/*', i):
            return None
        i += 1
    return None


def same_paragraph(line, indent):
    match = COMMENT.match(line)
    return match and match[1] == indent and match[2] == ' ' and not re.match(r'[-*|+] |\d+[.)] |----|clang-format|NOLINT|SEER_TEST|cppcheck', match[3])


def lift_trailing(lines):
    out = []
    i = 0
    while i < len(lines):
        line = lines[i]
        parts = split_trailing(line) if len(line) > WIDTH else None
        code = parts[0] if parts else ''
        if not parts or code.lstrip().startswith(('}', '#')) or line.endswith('\\') or 'clang-format' in line:
            out.append(line)
            i += 1
            continue
        indent = re.match(r'\s*', code)[0]
        column = len(line) - len(parts[1]) - 3
        words = [parts[1]]
        while i + 1 < len(lines):  # lines of comment that go on below it, at its column
            match = COMMENT.match(lines[i + 1])
            if not match or abs(len(match[1]) - column) > 2:
                break
            words.append(match[3])
            i += 1
        out.append(indent + '// ' + ' '.join(words))
        out.append(code)
        i += 1
    return out


def wrap(lines):
    out = []
    lines = list(lines)
    i = 0
    while i < len(lines):
        line = lines[i]
        match = COMMENT.match(line)
        if len(line) > WIDTH and match and match[2] == ' ' and 'clang-format' not in line:
            cut = line.rfind(' ', 0, WIDTH + 1)
            if cut > len(match[1]) + 3:
                rest = line[cut + 1:]
                line = line[:cut].rstrip()
                if i + 1 < len(lines) and same_paragraph(lines[i + 1], match[1]):
                    lines[i + 1] = match[1] + '// ' + rest + ' ' + COMMENT.match(lines[i + 1])[3]
                else:
                    lines.insert(i + 1, match[1] + '// ' + rest)
        hanging = re.match(r'(\s*//\s{2,}(?:[-*] )?)(\S.*)$', line)
        if len(line) > 120 and hanging and 'clang-format' not in line:  # an entry of a list goes on below itself
            cut = line.rfind(' ', 0, WIDTH + 1)
            lead = len(hanging[1])
            if cut > lead:
                indent = hanging[1][:hanging[1].index('//') + 2].ljust(lead)
                lines.insert(i + 1, indent + line[cut + 1:])
                line = line[:cut]
        out.append(line)
        i += 1
    return out


def main():
    check = sys.argv[1:2] == ['--check']
    bad = 0
    for path in sys.argv[1 + check:]:
        with open(path, encoding='utf-8') as file:
            text = file.read()
        off = 'clang-format off'
        new = '\n'.join(wrap(lift_trailing(text.split('\n')))) if off not in text else '\n'.join(wrap(text.split('\n')))
        if new == text:
            continue
        bad = 1
        if check:
            print(f'{path}: comments over {WIDTH} columns (run make format)')
        else:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(new)
    sys.exit(bad if check else 0)


if __name__ == '__main__':
    main()
