import { commandsOf, defineScript, type ValkeyGrant } from '../valkey/index.ts';
import { limitKeys } from './decision.ts';

/**
 * The arithmetic of rate limits, shared by the limiter's script and by scripts that count limits together with other
 * work. All policies are checked first, and costs are taken only if each has enough units left, so a refused call costs
 * nothing. A negative cost is a refund. All values are integers below 2^53, which Lua represents exactly.
 *
 * `look_at_limits(now, keys, args)`: the policies are the keys after the first `keys`; limit, window and cost of each
 * are the arguments after the first `args`. Returns whether all policies allow the call, and fills `used`.
 * `count_limits(now, keys)` then takes the costs. If the clock stepped back, a key has a time in the future and would
 * not refill until then, so its time is set to now at once, also for a refused call. The names are long because other
 * scripts share their scope.
 *
 * Each key holds two little-endian doubles: the used units and their time. One value per key needs one command to read
 * all keys and one to write each with its expiry, and no number is printed or parsed. That is most of the cost of a
 * limit on the single core of Valkey.
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
 * The script of the limiter. It uses the server's time, so that processes with different clocks agree; tests pass their
 * own.
 *
 * KEYS: one per policy. ARGV: now in ms or '' for the server's time, '1' to consume or '0' to peek, then limit,
 * windowMs and cost of each policy. Returns [passed, used of the first, used of the second, …].
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

export const limiterGrant: ValkeyGrant = {
  commands: ['eval', 'evalsha', ...commandsOf([limiterScript])],
  keys: [limitKeys],
};
