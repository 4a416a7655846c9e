-- One decision of one client, under one rule or several that must all allow: all or nothing, in one round trip.
--
-- KEYS: one of each rule, all of the same client, all under one hash tag.
-- ARGV: 1 what to do: `decide`, `peek` (decide, and change nothing), `take` (charge what there is room for, at most the
--       cost), `charge` (whatever the limit) or `refund` (the newest charge first);
--       2 the cost, in units, at most 2^53 - 1; for decide, peek and take at most the capacity of each rule;
--       then four of each rule: its kind, and three parameters of it (units, us, or parts; see the algorithm);
--       of take, the least that is charged, 1 or more (with room for less, nothing is), and the units that must stay free
--       of each token bucket; both together at most its burst;
--       for the entry that takes the time, the time in us.
-- Returns integers, durations as us and the ns by which they are late: allowed {1, remaining, reset, late, delay, late,
--       units charged}; denied {0, remaining, reset, late, retry, late}; of charge and refund {1}.
-- It must be a script: no rule may be charged unless all of them allow, and nobody may come in between.
local action, cost = ARGV[1], tonumber(ARGV[2])
local rules = #KEYS

if action == 'refund' then
  -- A key that is none of ours fails here, before any other has changed.
  for i = 1, rules > 1 and rules or 0 do
    local p = 4 * i
    kinds[ARGV[p - 1]].open(KEYS[i], tonumber(ARGV[p]), tonumber(ARGV[p + 1]), tonumber(ARGV[p + 2]))
  end
  for i = 1, rules do
    local p = 4 * i
    kinds[ARGV[p - 1]].refund(KEYS[i], cost, tonumber(ARGV[p]), tonumber(ARGV[p + 1]), tonumber(ARGV[p + 2]))
  end
  return { 1 }
end

local least, keep = 1, 0
if action == 'take' then
  least, keep = tonumber(ARGV[4 * rules + 3]), tonumber(ARGV[4 * rules + 4])
end

local states, room = {}, MAX
for i = 1, rules do
  local p = 4 * i
  local state = kinds[ARGV[p - 1]].open(KEYS[i], tonumber(ARGV[p]), tonumber(ARGV[p + 1]), tonumber(ARGV[p + 2]))
  states[i] = state
  state.keep = ARGV[p - 1] == 'token' and keep or 0
  state.room = state.room > state.keep and state.room - state.keep or 0
  if state.room < room then
    room = state.room
  end
end

if action == 'charge' then
  if cost > 0 then
    for i = 1, rules do
      kinds[ARGV[4 * i - 1]].charge(states[i], cost)
    end
  end
  return { 1 }
end

if action == 'take' and cost > room then
  -- Too little to take is a denial of the least: it says when there will be so much.
  cost = room >= least and room or least
end

local reset, reset_late = 0, 0
if cost > room then
  local retry, retry_late = 0, 0
  for i = 1, rules do
    local kind, state = kinds[ARGV[4 * i - 1]], states[i]
    reset, reset_late = longer(reset, reset_late, kind.reset(state, 0))
    if cost > state.room then
      retry, retry_late = longer(retry, retry_late, kind.retry(state, cost + state.keep))
    end
  end
  return { 0, room, reset, reset_late, retry, retry_late }
end

local delay, delay_late = 0, 0
-- Cost 0 changes nothing.
local change = action ~= 'peek' and cost > 0
for i = 1, rules do
  local name = ARGV[4 * i - 1]
  local kind, state = kinds[name], states[i]
  if name == 'leaky' then
    delay, delay_late = longer(delay, delay_late, kind.delay(state, cost))
  end
  reset, reset_late = longer(reset, reset_late, (change and kind.charge or kind.reset)(state, cost))
end
return { 1, room - cost, reset, reset_late, delay, delay_late, cost }
