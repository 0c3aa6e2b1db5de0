import { defineScript } from '../valkey/index.ts';

/**
 * The one limiter script, shared by every process that limits anything. All policies of a call are looked at
 * first, and only when each has room is the cost taken from all of them: a call refused by one policy costs
 * nothing anywhere. The time is the server's, so that processes with different clocks agree; a test may pass
 * its own. Values are whole numbers below 2^53 throughout, which Lua keeps exactly.
 *
 * KEYS: one per policy. ARGV: now in ms or '' for the server's, '1' to consume or '0' to peek, then
 * limit, windowMs, cost of each policy. Answers [passed, used of the first, used of the second, …].
 */
export const limiterScript = defineScript(
  'limiter',
  `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local consume = ARGV[2] == '1'
local passed = true
local used, at = {}, {}
for i, key in ipairs(KEYS) do
  local limit, window, cost = tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  local kept = redis.call('HMGET', key, 'used', 'at')
  used[i], at[i] = 0, now
  if kept[1] and kept[2] then
    local last = tonumber(kept[2])
    used[i] = math.max(0, tonumber(kept[1]) - math.max(0, now - last) * limit)
    at[i] = math.max(now, last)
  end
  if used[i] + cost * window > limit * window then passed = false end
end
local answer = { passed and 1 or 0 }
for i, key in ipairs(KEYS) do
  local limit, window, cost = tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  if passed and consume and cost > 0 then
    used[i] = used[i] + cost * window
    redis.call('HSET', key, 'used', string.format('%.0f', used[i]), 'at', string.format('%.0f', at[i]))
    redis.call('PEXPIRE', key, math.ceil(used[i] / limit) + math.max(0, at[i] - now) + 1000)
  end
  answer[i + 1] = string.format('%.0f', used[i])
end
return answer
`,
);
