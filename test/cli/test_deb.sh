# make deb: both packages are as lintian wants them, have no file in common, and are enough, in any folder, to compile a network
# without a measurement and to build and run a program that runs it.
# SEER_TEST: timeout=200 cost=40 labels=online
. "$(dirname "$0")/lib.sh"
for program in dpkg-deb dpkg-shlibdeps strip pkg-config cc; do command -v $program > /dev/null || exit 77; done
[ -z "${TEST_CFLAGS:-}" ] || exit 77  # a sanitizer's library is nothing to depend on

export DEBFULLNAME=Tester DEBEMAIL=tester@example.org DEB_LEVEL=0
"$SOURCE/tool/deb.sh" "$TEST_BUILD_DIR" "$WORK/deb" > log 2>&1 || { cat log; fail "make deb"; }
mkdir root
for package in familyseer-runtime familyseer; do
  deb=$(ls deb/"${package}"_*.deb)
  dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$' > "$package.files"
  dpkg-deb -x "$deb" root
  dpkg-deb -f "$deb" Maintainer > maintainer
  expect_text maintainer "Tester <tester@example.org>"
  for page in copyright changelog.gz changelog.Debian.gz; do
    [ -s "root/usr/share/doc/$package/$page" ] || fail "$package has no $page"
  done
done
sort familyseer-runtime.files familyseer.files | uniq -d > both
[ ! -s both ] || fail "in both packages: $(cat both)"
dpkg-deb -f deb/familyseer_*.deb Depends > depends
for package in libc6 libllvm19 lld-19 libxgboost familyseer-runtime; do expect_text depends "$package"; done
dpkg-deb -f deb/familyseer-runtime_*.deb Depends > depends
grep -q '^libc6 ([^,]*)$' depends || fail "the runtime needs more than libc: $(cat depends)"
for page in familyseer familyseer-tune familyseer-runner; do
  zcat "root/usr/share/man/man1/$page.1.gz" | grep -q '^\.TH' || fail "no manual page $page"
done

bare() { env -i PATH=/usr/bin:/bin HOME="$WORK" XDG_CACHE_HOME="$WORK/cache" SEER_DEVICE_LOCK="$WORK/device.lock" "$@"; }
program=root/usr/bin/familyseer
expect_status 0 bare "$program" compile mlp -o net -O1
expect_status 0 bare "$program" verify net/model.so mlp
export PKG_CONFIG_PATH=$WORK/root/usr/lib/pkgconfig
# shellcheck disable=SC2046
cc -D_GNU_SOURCE "$SOURCE/examples/app.c" $(pkg-config --define-variable=prefix="$WORK/root/usr" --cflags --libs familyseer-runtime) -o app || fail "app.c"
expect_status 0 bare env LD_LIBRARY_PATH="$WORK/root/usr/lib" ./app net/model.so
expect_text stdout "'output' begins with"
# What is linked into networks is the packages' own.
echo "no archive" > root/usr/lib/familyseer/libseer_rt.a
expect_status 1 bare "$program" compile mlp -o other -O1
expect_text stderr "$WORK/root/usr/bin/../lib/familyseer/libseer_rt.a"
