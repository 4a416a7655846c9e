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
  -- All keys are read before any is written: with one that is none of ours nothing changes.
  local left, fresh = {}, {}
  for i = 1, rules do
    local p = 4 * i
    local kind, key, a, b = ARGV[p - 1], KEYS[i], tonumber(ARGV[p]), tonumber(ARGV[p + 1])
    local raw, us
    --@ refund
    left[i], fresh[i] = raw, us
  end
  for i = 1, rules do
    if left[i] == '' then
      redis.call('DEL', KEYS[i])
    elseif left[i] then
      -- It may be fresh already.
      local us = fresh[i] > 0 and fresh[i] or 1
      redis.call('SET', KEYS[i], left[i], 'PX', floor((us + slack) / 1000))
    end
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
  local kind, key = ARGV[p - 1], KEYS[i]
  local a, b, c = tonumber(ARGV[p]), tonumber(ARGV[p + 1]), tonumber(ARGV[p + 2])
  local s
  --@ open
  if kind == 'token' and keep > 0 then
    s.room = s.room > keep and s.room - keep or 0
  end
  if s.room < room then
    room = s.room
  end
  states[i] = s
end

if action == 'take' and cost > room then
  -- Too little to take is a denial of the least: it says when there will be so much.
  cost = room >= least and room or least
end

local reset, reset_late = 0, 0
if cost > room and action ~= 'charge' then
  local retry, retry_late = 0, 0
  for i = 1, rules do
    local kind, s = ARGV[4 * i - 1], states[i]
    local us, late
    if cost > s.room then
      local cost = kind == 'token' and cost + keep or cost
      --@ retry
      if us > retry or us == retry and late < retry_late then
        retry, retry_late = us, late
      end
    end
    local cost = 0
    --@ reset
    if us > reset or us == reset and late < reset_late then
      reset, reset_late = us, late
    end
  end
  return { 0, room, reset, reset_late, retry, retry_late }
end

local delay, delay_late = 0, 0
for i = 1, rules do
  local kind, s = ARGV[4 * i - 1], states[i]
  local us, late = 0, 0
  --@ delay
  if us > delay or us == delay and late < delay_late then
    delay, delay_late = us, late
  end
  -- Cost 0 changes nothing.
  if cost > 0 and action ~= 'peek' then
    local raw
    --@ charge
    if raw then
      redis.call('SET', s.key, raw, 'PX', floor((us + slack) / 1000))
    end
  else
    --@ reset
  end
  if us > reset or us == reset and late < reset_late then
    reset, reset_late = us, late
  end
end
if action == 'charge' then
  return { 1 }
end
return { 1, room - cost, reset, reset_late, delay, delay_late, cost }
