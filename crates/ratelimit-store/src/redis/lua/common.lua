-- What all the algorithms share. Every number here is a whole number below 2^53, where Lua's doubles are exact:
-- `exact.rs` refuses the quotas for which that would not hold. Sums and products that can lie beyond (a charge far over
-- the limit) are only ever compared, or cut off at MAX.
--
-- A server runs the whole text at each call, so that each function here is made anew each time, and a table of functions
-- more so. That is why an algorithm is a list of parts (`--@ name`) and not of functions: `main.lua` and `several.lua` say
-- `--@ name` where the part of the rule's algorithm is to stand, in a block of its own. A part sees the `kind` of the rule,
-- `cost`, and what the table says it is made of: `key` and the parameters `a`, `b` and `c`, or what `open` has said, `s`.
--
-- | part | says | of |
-- |---|---|---|
-- | open | `s`, in which `key`, and `room`: how many units could be charged now | `key`, `a`, `b`, `c` |
-- | retry | `us`, `late`: until `cost`, which is more than the room, fits | `s` |
-- | reset | `us`, `late`: until nothing is used, if `cost` is charged now | `s` |
-- | delay | `us`, `late`, which are 0: until what is ahead has drained, where requests queue | `s` |
-- | charge | `raw`, what to keep (nil where nothing is left to write); `us`, `late`, as reset | `s` |
-- | refund | `raw`, what to keep ('' for nothing, nil if there was nothing); `us` until it is fresh | `key`, `a`, `b`, `c` |
--
-- Durations are pairs: whole microseconds, rounded up, and by how many nanoseconds (0 to 999) that is late. The first is
-- what the server's clock can tell; both together are exact.
local floor = math.floor
local MAX = 9007199254740991

-- A key that is fresh `us` from now may go after floor((us + slack) / 1000) milliseconds: never before, and at least 1 for
-- `us` of 1 or more. The server adds them to its own time in whole milliseconds, which is why the part of the present one
-- counts too.
local slack = now % 1000 + 999 + grace
