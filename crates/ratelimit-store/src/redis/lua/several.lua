
-- One decision under several limits, each with a key, a quota and a cost of its own: all are charged, or none is.
--
-- KEYS: one of each limit, no two alike; on a cluster all under one hash tag.
-- ARGV: five of each limit: its kind, three parameters (units, us, or parts; see the algorithm), and the cost in units, at
--       most its capacity;
--       for the entry that takes the time, the time in us.
-- Returns the answer of each limit, in integers, durations as us and the ns by which they are late. If all allow: {1,
--       remaining, reset, late, delay, late, units charged}. Otherwise of one that refuses {0, remaining, reset, late,
--       retry, late}, and of one that would have allowed the first with nothing charged: what is there.
-- It must be a script: none may be charged unless all of them allow, and nobody may come in between.
local states, refused = {}, false
for i = 1, #KEYS do
  local p = 5 * i
  local state = kinds[ARGV[p - 4]].open(KEYS[i], tonumber(ARGV[p - 3]), tonumber(ARGV[p - 2]), tonumber(ARGV[p - 1]))
  state.cost = tonumber(ARGV[p])
  states[i] = state
  refused = refused or state.cost > state.room
end

local answers = {}
for i = 1, #KEYS do
  local name = ARGV[5 * i - 4]
  local kind, state = kinds[name], states[i]
  local cost = state.cost
  if cost > state.room then
    local reset, reset_late = kind.reset(state, 0)
    local retry, retry_late = kind.retry(state, cost)
    answers[i] = { 0, state.room, reset, reset_late, retry, retry_late }
  else
    -- Cost 0 changes nothing.
    cost = refused and 0 or cost
    local delay, delay_late = 0, 0
    if name == 'leaky' then
      delay, delay_late = kind.delay(state, cost)
    end
    local reset, reset_late = (cost > 0 and kind.charge or kind.reset)(state, cost)
    answers[i] = { 1, state.room - cost, reset, reset_late, delay, delay_late, cost }
  end
end
return answers
