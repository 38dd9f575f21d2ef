# pretrain makes cost models of records and tables of times; compile and tune begin with them, or without, as they are told.
# SEER_TEST: timeout=300
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$WORK/cache"
machine=$(cat "$SOURCE/test/targets/zen4-avx2.target")
server=$(cat "$SOURCE/test/targets/server.target")
seer() { local command=$1; shift; "$FAMILYSEER" "$command" "$@" --target "$machine"; }

expect_status 2 "$FAMILYSEER" pretrain
expect_text stderr "an argument is missing"
expect_status 0 seer study collect mobilenet_v2_0.25 -o t.gz --heaviest 3 --schedules 60 --measure fake
expect_status 2 seer pretrain t.gz
expect_text stderr "-o FOLDER"
expect_status 1 seer pretrain none.gz -o models
expect_text stderr "none.gz"
expect_status 1 "$FAMILYSEER" pretrain t.gz -o models --target "$server"
expect_text stderr "nothing that was measured"
expect_status 1 seer pretrain t.gz -o models --leave-out mobilenet_v2_0.25
[ -z "$(ls models 2> /dev/null)" ] || fail "a file of nothing"

# The folder's file is named by the machine's class. The same sources give the same bytes.
expect_status 0 seer pretrain t.gz -o models
expect_text stdout "models/x86_64-256-l2_1024k.bank: 180 schedules of 3 tasks"
expect_status 0 seer pretrain t.gz -o again.bank
cmp models/x86_64-256-l2_1024k.bank again.bank || fail "the same table gave other models"
expect_status 0 seer tune mlp --measure fake --trials 150 --records r.sqlite
expect_status 0 seer pretrain r.sqlite t.gz -o both.bank --measure fake
expect_text stdout "of 6 tasks"
expect_status 0 seer pretrain r.sqlite t.gz -o both.bank  # made-up times teach only who asks for them
expect_text stdout "of 3 tasks"

# They are heard: other choices, and a tuning says what it begins with.
expect_status 0 seer compile mobilenet_v2 -O1 --no-pretrained -o without --emit obj
expect_status 0 seer compile mobilenet_v2 -O1 --pretrained again.bank -o with --emit obj
cmp -s without/model.o with/model.o && fail "models that nobody hears"
expect_status 0 seer compile mobilenet_v2 -O1 --no-pretrained --pretrained again.bank -o neither --emit obj
cmp without/model.o neither/model.o || fail "--no-pretrained was not heard"
expect_status 0 seer tune mlp --measure fake --trials 20 --ignore-records --pretrained again.bank --json
expect_text stdout "cost models of other networks: again.bank"
expect_status 0 seer tune mlp --measure fake --trials 20 --ignore-records --json --no-pretrained
grep -q "of other networks" stdout && fail "models that were not wanted"
expect_status 1 seer tune mlp --measure fake --trials 20 --ignore-records --pretrained again.bank --search-policy ansor
expect_text stderr "goes on from no other network's"
expect_status 1 seer compile mlp -O1 --pretrained t.gz -o bad
expect_text stderr "t.gz: not a file of cost models"
