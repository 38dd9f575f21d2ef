#!/bin/bash
# Sizes that a reader can hold: 800 lines a file, 600 in the layers of tuning, 80 a function, 12 .c files a folder (op/, expand/, cli/ and models/ have one per entry).
#   tool/size.sh [ROOT]
cd "${1:-$(dirname "$0")/..}" || exit 1
bad=0
while read -r lines file; do
  [ "$file" = total ] && continue
  most=800
  case $file in src/measure/* | src/record/* | src/search/* | src/choose/* | src/library/* | src/tune/* | src/study/*) most=600 ;; esac
  if [ "$lines" -gt $most ]; then
    echo "$file: $lines lines, at most $most"
    bad=1
  fi
done < <(find src include test tool bench -type f \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.py' -o -name '*.sh' \) \
  -exec wc -l {} +)
# Code is 100 columns wide (clang-format); comments and tables may be a little wider.
wide=$(find src include test tool -type f \( -name '*.c' -o -name '*.h' \) -exec grep -nE '^.{121,}' /dev/null {} + | cut -c1-80)
[ -z "$wide" ] || { echo "lines over 120 columns:"; echo "$wide"; bad=1; }
# As clang-format leaves them, a function begins at the left margin with a line that ends in ") {" and ends with "}".
long=$(find src -type f -name '*.c' -print0 | xargs -0 awk '
  FNR == 1 { start = head = 0 }
  /^[A-Za-z_].*[^;{}]$/ { head = FNR }  # the first line of a longer head
  /^[A-Za-z_].*\) \{$/ { start = FNR; head = 0 }
  /^ .*\) \{$/ && head { start = head; head = 0 }
  /^}/ { if (start && FNR - start >= 80) print FILENAME ":" start ": " FNR - start + 1 " lines, a function has at most 80"
         start = head = 0 }
')
[ -z "$long" ] || { echo "$long"; bad=1; }
while read -r folder; do
  case $folder in */op | */expand | src/cli | src/models) continue ;; esac
  n=$(find "$folder" -maxdepth 1 -name '*.c' | wc -l)
  if [ "$n" -gt 12 ]; then
    echo "$folder: $n .c files, at most 12"
    bad=1
  fi
done < <(find src -type d)
exit $bad
