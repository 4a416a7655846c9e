-- Token bucket and leaky bucket: a level of parts that drains at a whole number of parts a microsecond.
--
-- With g = gcd(L, W in us): a unit is `unit` = W/g parts, and `drain` = L/g parts drain in a microsecond.
-- Key: 16 bytes, big endian: `last` (us), when the level was recorded; `used` (parts), the level then, at least 1.
-- An absent key is an empty bucket. It must be a script: the level is computed from what was read, and written back.
local bucket = {}

function bucket.open(key, drain, unit, burst)
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
  return { key = key, at = at, behind = at - now, level = level, drain = drain, unit = unit, free = free, room = room }
end

-- The wait until `parts` have drained, from now.
local function bucket_wait(s, parts)
  local us, late = drained_in(parts, s.drain)
  return us + s.behind, late
end

-- Until `cost`, which is more than the room, fits.
function bucket.retry(s, cost)
  return bucket_wait(s, cost * s.unit - s.free)
end

-- Until the bucket is empty if `cost` is charged now.
function bucket.reset(s, cost)
  local filled = s.level + cost * s.unit
  if filled == 0 then
    return 0, 0
  end
  return bucket_wait(s, filled)
end

-- Until what is ahead has drained.
function bucket.delay(s, cost)
  if cost == 0 then
    return 0, 0
  end
  return bucket_wait(s, s.level)
end

function bucket.charge(s, cost)
  local filled = s.level + cost * s.unit
  if filled > MAX then
    filled = MAX
  end
  local us, late = bucket_wait(s, filled)
  keep(s.key, struct.pack('>I8I8', s.at, filled), us)
  return us, late
end

function bucket.refund(key, cost, drain, unit)
  local raw = redis.call('GET', key)
  if not raw then
    return
  end
  local last, used = struct.unpack('>I8I8', raw)
  used = used - cost * unit
  if used > 0 then
    keep(key, struct.pack('>I8I8', last, used), last + ceil_div(used, drain) - now)
  else
    redis.call('DEL', key)
  end
end
