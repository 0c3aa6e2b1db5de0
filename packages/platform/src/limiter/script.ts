import { defineScript } from '../valkey/index.ts';

/**
 * The one limiter script, shared by every process that limits anything. All policies of a call are looked at
 * first, and only when each has room is the cost taken from all of them: a call refused by one policy costs
 * nothing anywhere. The time is the server's, so that processes with different clocks agree; a test may pass
 * its own. Values are whole numbers below 2^53 throughout, which Lua keeps exactly.
 *
 * KEYS: one per policy. ARGV: now in ms or '' for the server's, '1' to consume or '0' to peek, then
 * limit, windowMs, cost of each policy. Answers [passed, used of the first, used of the second, …].
 *
 * Each key holds two little-endian doubles, what is used and when that was so. As one value it takes one command
 * to read all of them and one to write each with its expiry, and no number is printed or parsed: this script is
 * most of what a limit costs Valkey, and Valkey runs it on one core.
 */
export const limiterScript = defineScript(
  'limiter',
  `
local max = math.max
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local kept = redis.call('MGET', unpack(KEYS))
local passed = true
local limits, costs, used, at = {}, {}, {}, {}
for i = 1, #KEYS do
  local limit, window = tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  local cost = tonumber(ARGV[3 * i + 2]) * window
  local before, last = 0, now
  if kept[i] then
    before, last = struct.unpack('<dd', kept[i])
    before = max(0, before - max(0, now - last) * limit)
    last = max(now, last)
  end
  if before + cost > limit * window then passed = false end
  limits[i], costs[i], used[i], at[i] = limit, cost, before, last
end
if passed and ARGV[2] == '1' then
  for i = 1, #KEYS do
    if costs[i] > 0 then
      used[i] = used[i] + costs[i]
      local ttl = math.ceil(used[i] / limits[i]) + at[i] - now + 1000
      redis.call('SET', KEYS[i], struct.pack('<dd', used[i], at[i]), 'PX', ttl)
    end
  end
end
return { passed and 1 or 0, unpack(used) }
`,
);
