
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
  local kind, key = ARGV[p - 4], KEYS[i]
  local a, b, c = tonumber(ARGV[p - 3]), tonumber(ARGV[p - 2]), tonumber(ARGV[p - 1])
  local s
  --@ open
  s.cost = tonumber(ARGV[p])
  states[i] = s
  refused = refused or s.cost > s.room
end

local answers = {}
for i = 1, #KEYS do
  local kind, s = ARGV[5 * i - 4], states[i]
  local cost = s.cost
  local us, late = 0, 0
  if cost > s.room then
    --@ retry
    local retry, retry_late = us, late
    local cost = 0
    --@ reset
    answers[i] = { 0, s.room, us, late, retry, retry_late }
  else
    -- Cost 0 changes nothing.
    cost = refused and 0 or cost
    --@ delay
    local delay, delay_late = us, late
    if cost > 0 then
      local raw
      --@ charge
      if raw then
        redis.call('SET', s.key, raw, 'PX', floor((us + slack) / 1000))
      end
    else
      --@ reset
    end
    answers[i] = { 1, s.room - cost, us, late, delay, delay_late, cost }
  end
end
return answers
