import { defineScript } from '../valkey/index.ts';

/**
 * The arithmetic of rate limits, for every script that counts them: the limiter's own below, and those that count them
 * along with something else in one call. All policies are looked at first, and only when each has room is the cost taken
 * from all of them: a call refused by one policy costs nothing anywhere. A cost below zero gives back. Values are whole
 * numbers below 2^53 throughout, which Lua keeps exactly.
 *
 * `look_at_limits(now, keys, args)`: the policies are the keys after the first `keys`, and limit, window and cost of each
 * are the arguments after the first `args`. Answers whether all have room, and fills `used` for the answer of the script.
 * `count_limits(now, keys)` then takes the costs. A limit that was counted in the future, because the clock stepped back, counts from
 * now on: otherwise it would not refill before the clock is there again. That is kept at once, also of a call that is refused. Names are long because they share a script with others.
 *
 * Each key holds two little-endian doubles, what is used and when that was so. As one value it takes one command
 * to read all of them and one to write each with its expiry, and no number is printed or parsed: this is most of what
 * a limit costs Valkey, and Valkey runs it on one core.
 */
export const limitFunctions = `
local limits, costs, used = {}, {}, {}
local function look_at_limits(now, keys, args)
  local passed = true
  if #KEYS == keys then return passed end
  local max = math.max
  local kept = redis.call('MGET', unpack(KEYS, keys + 1))
  for i = 1, #KEYS - keys do
    local word = args + 3 * i
    local limit, window = tonumber(ARGV[word - 2]), tonumber(ARGV[word - 1])
    local cost = tonumber(ARGV[word]) * window
    local before = 0
    if kept[i] then
      local last
      before, last = struct.unpack('<dd', kept[i])
      if last > now then
        redis.call('SET', KEYS[keys + i], struct.pack('<dd', before, now), 'PX', math.ceil(before / limit) + 1000)
      end
      before = max(0, before - max(0, now - last) * limit)
    end
    if before + cost > limit * window then passed = false end
    limits[i], costs[i], used[i] = limit, cost, before
  end
  return passed
end
local function count_limits(now, keys)
  for i = 1, #used do
    if costs[i] ~= 0 then
      used[i] = math.max(0, used[i] + costs[i])
      local ttl = math.ceil(used[i] / limits[i]) + 1000
      redis.call('SET', KEYS[keys + i], struct.pack('<dd', used[i], now), 'PX', ttl)
    end
  end
end`;

/**
 * The limiter's script, shared by every process that limits anything. The time is the server's, so that processes with
 * different clocks agree; a test may pass its own.
 *
 * KEYS: one per policy. ARGV: now in ms or '' for the server's, '1' to consume or '0' to peek, then
 * limit, windowMs, cost of each policy. Answers [passed, used of the first, used of the second, …].
 */
export const limiterScript = defineScript(
  'limiter',
  `${limitFunctions}
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local passed = look_at_limits(now, 0, 2)
if passed and ARGV[2] == '1' then count_limits(now, 0) end
return { passed and 1 or 0, unpack(used) }
`,
);
