-- Token bucket and leaky bucket: a level of parts that drains at a whole number of parts a microsecond.
--
-- Parameters, with g = gcd(L, W in us): `drain` = L/g, the parts that drain in a microsecond; `unit` = W/g, the parts of a
-- unit; the burst (units).
-- Key: 16 bytes, big endian: `last` (us), when the level was recorded; `used` (parts), the level then, at least 1.
-- An absent key is an empty bucket. It must be a script: the level is computed from what was read, and written back.

-- How long `parts` take to drain at `drain` parts a microsecond: up to 2^53 - 1 us, to be added to no time, whose sum would
-- lie beyond, but to the difference of two.
local function drained_in(parts, drain)
  local us = floor(parts / drain)
  local rest = parts - us * drain
  if rest == 0 then
    return us, 0
  end
  return us + 1, floor((drain - rest) * 1000 / drain)
end

--@ open
local drain, unit, burst = a, b, c
local raw = redis.call('GET', key)
local at, level = now, 0
if raw then
  local last, used = struct.unpack('>I8I8', raw)
  -- A clock that stepped back mints nothing.
  if last > now then
    at = last
  end
  level = used - (at - last) * drain
  if level < 0 then
    level = 0
  end
end
local free = burst * unit - level
local room = 0
if free > 0 then
  room = floor(free / unit)
end
s = { key = key, at = at, level = level, drain = drain, unit = unit, free = free, room = room }

--@ retry
us, late = drained_in(cost * s.unit - s.free, s.drain)
us = us + (s.at - now)

--@ reset
local filled = s.level + cost * s.unit
if filled > 0 then
  us, late = drained_in(filled, s.drain)
  us = us + (s.at - now)
else
  us, late = 0, 0
end

--@ delay
if kind == 'leaky' and cost > 0 then
  us, late = drained_in(s.level, s.drain)
  us = us + (s.at - now)
end

--@ charge
local filled = s.level + cost * s.unit
if filled > MAX then
  filled = MAX
end
raw = struct.pack('>I8I8', s.at, filled)
us, late = drained_in(filled, s.drain)
us = us + (s.at - now)

--@ refund
local drain, unit = a, b
raw = redis.call('GET', key)
if raw then
  local last, used = struct.unpack('>I8I8', raw)
  used = used - cost * unit
  raw = used > 0 and struct.pack('>I8I8', last, used) or ''
  us = drained_in(used, drain) + (last - now)
end
