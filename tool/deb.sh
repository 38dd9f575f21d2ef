#!/bin/bash
# What make deb runs: two packages for the Debian that this is, of what a build installs: familyseer-runtime (what programs need
# that run compiled networks, and what they are built with) and familyseer (the program and the library that tune). What they
# depend on, dpkg-shlibdeps says. Whoever packages stands in them as the maintainer, by DEBFULLNAME and DEBEMAIL, as for
# Debian's own tools. DEB_LEVEL=0 packs in a hurry. lintian's warnings are errors (tool/deb/*.lintian-overrides has those that are meant, with reasons).
#   tool/deb.sh [BUILD] [OUT]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
out=$(realpath -m "${2:-$build/deb}")
version=$("$build/familyseer" --version | cut -d' ' -f2)-1
arch=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-$(git config user.name || id -un)} <${DEBEMAIL:-$(git config user.email || echo "$(id -un)@$(hostname -f)")}>"
# The same sources give the same packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
umask 022
rm -rf "$out/debian" "$out/familyseer" "$out/familyseer-runtime" "$out/all" "$out"/familyseer*.deb
mkdir -p "$out/debian"
all=$out/all
DESTDIR=$all cmake --install "$build" --prefix /usr >"$out/install.log"

# ---- what goes where
lib=usr/lib
in_runtime="$(cd "$all" && echo $lib/libfamilyseer_runtime.so* usr/include $lib/pkgconfig/familyseer-runtime.pc $lib/cmake)"
for path in $in_runtime; do
  mkdir -p "$out/familyseer-runtime/$(dirname "$path")"
  mv "$all/$path" "$out/familyseer-runtime/$path"
done
mv "$all" "$out/familyseer"
mkdir -p "$out/familyseer/lib" && mv "$out/familyseer/$lib/systemd" "$out/familyseer/lib/systemd"

# ---- as Debian has files
find "$out" -name '*.so*' -type f -exec chmod 644 {} +
own="$(find "$out" -type f \( -path '*/bin/familyseer*' -o -name '*.so*' \) -not -path '*/aarch64/*' -not -path '*/x86_64/*')"
# shellcheck disable=SC2086
strip --remove-section=.comment --remove-section=.note $own
find "$out/familyseer/$lib/familyseer" -maxdepth 1 -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
find "$out/familyseer/usr/share/man" -name '*.1' -exec gzip -9n {} +
for package in familyseer familyseer-runtime; do
  doc=$out/$package/usr/share/doc/$package
  mkdir -p "$doc" "$out/$package/usr/share/lintian/overrides" "$out/$package/DEBIAN"
  cp tool/deb/copyright "$doc/copyright"
  gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
  gzip -9nc >"$doc/changelog.Debian.gz" <<END
familyseer ($version) unstable; urgency=medium

  * As changelog.gz says.

 -- $maintainer  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END
  cp "tool/deb/$package.lintian-overrides" "$out/$package/usr/share/lintian/overrides/$package"
  echo "activate-noawait ldconfig" >"$out/$package/DEBIAN/triggers"
  for file in "$out/$package/$lib"/lib*.so.?; do
    name=$(basename "$file")
    echo "${name%.so.*} ${name##*.so.} $package (>= ${version%-*})"
  done >"$out/$package/DEBIAN/shlibs"
done

# ---- what they say of themselves
printf 'Source: familyseer\n\nPackage: familyseer\nArchitecture: any\n\nPackage: familyseer-runtime\nArchitecture: any\n' >"$out/debian/control"
depends() { # PACKAGE: of its programs and libraries, but for stubs of libc
  # shellcheck disable=SC2086
  (cd "$out" && dpkg-shlibdeps -O --warnings=0 $(printf '%s\n' $own | grep "^$out/$1/" | grep -v 'libseer_stub_\|-runner$') |
    sed 's/^shlibs:Depends=//')
}
control() { # PACKAGE SECTION DEPENDS < DESCRIPTION
  {
    printf 'Package: %s\nSource: familyseer\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$1" "$version" "$arch" "$maintainer"
    printf 'Section: %s\nPriority: optional\nDepends: %s\nInstalled-Size: %s\nDescription: ' "$2" "$3" "$(du -k -s --apparent-size "$out/$1" | cut -f1)"
    cat
  } >"$out/$1/DEBIAN/control"
  (cd "$out/$1" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  dpkg-deb --root-owner-group -Zxz ${DEB_LEVEL:+-z"$DEB_LEVEL"} --build "$out/$1" "$out" >/dev/null
}
control familyseer-runtime libs "$(depends familyseer-runtime)" <<'END'
runs networks that familyseer compiled
 familyseer turns a trained network into a library that is tuned for one
 machine. This package has what programs need that load and run such
 libraries, and what they are built with: headers for C and C++, and files
 for pkg-config and CMake. It needs libc alone.
END
control familyseer science "$(depends familyseer), lld-19, familyseer-runtime (= $version)" <<'END'
tunes and compiles trained networks
 familyseer takes a trained network (an ONNX file), finds fast code for every
 part of it by measuring on this machine, and writes a small library that
 runs it. It needs minutes, and nothing has to be installed where the library
 runs. This package has the program, manual pages, completion for shells, the
 same as a library for programs, and a module of Python that runs what was
 compiled.
END
ls "$out"/*.deb
if command -v lintian >/dev/null; then
  root=""
  [ "$(id -u)" != 0 ] || root=--allow-root
  lintian $root --fail-on error,warning --info "$out"/*.deb
else
  echo "lintian is not installed (tool/deps.sh deb): the packages were not looked at"
fi
