import { limitFunctions } from '@millrace/platform/limiter';
import { defineScript, type ValkeyScript } from '@millrace/platform/valkey';

export interface LeaseServer {
  /** Separates installations that share a server. */
  readonly namespace: string;
  readonly generation: bigint;
  /** The replication id, which changes when the server takes over another server's data. */
  readonly incarnation: string;
}

export type LeaseScripts = Readonly<
  Record<'open' | 'enlarge' | 'reserve' | 'settle' | 'recall' | 'close' | 'remove', ValkeyScript>
>;

/**
 * Lua uses doubles, exact below 2^53 nano-USD (9 million USD). A lease that was ever granted this much is replaced, and no single
 * request may need more.
 */
export const maxPerLease = 2n ** 52n;

/*
 * The text of each script includes the generation, and so does its digest. The worker that prepares a server for a generation
 * loads the scripts once; all calls use the digest alone. The script cache is neither stored nor replicated, so a server that
 * was restarted, restored or promoted does not know the digest and rejects the call.
 *
 * A running server that receives another server's data (REPLICAOF) keeps its scripts, but its replication id changes. Scripts
 * that grant, reserve or recall compare it first. Settling does not need to: it only finds its own reservation.
 *
 * KEYS[1] is the lease, a hash: epoch, lease, granted, recalled, reserved, spent, admit_until, closed, and <id>:granted and so
 * on for each budget. KEYS[2] has the reservations of one gateway in one epoch: request -> amount, budgets.
 * Amounts are whole nano-USD below 2^53, which Lua keeps exactly and prints exactly only with '%.0f'.
 * All keys, also those of rate limits, have the organisation as hash tag. ARGV[1] is always the epoch; a lease without this
 * epoch is not the requested one.
 */

const amountFunctions = `
local function amounts(prefix)
  local kept = redis.call('HMGET', KEYS[1], prefix .. 'granted', prefix .. 'recalled', prefix .. 'reserved', prefix .. 'spent')
  return tonumber(kept[1] or 0), tonumber(kept[2] or 0), tonumber(kept[3] or 0), tonumber(kept[4] or 0)
end
local function remaining(prefix)
  local granted, recalled, reserved, spent = amounts(prefix)
  return granted - recalled - reserved - spent, granted, recalled
end`;

const nowMs = `
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`;

const sameEpoch = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return { 'gone' } end`;

/**
 * ARGV: epoch, now or '', granted, ms of admission, lease, then id and granted of each budget. A ledger that has since been
 * restored to an earlier point can have granted this epoch to another lease, or a later epoch. `stale` returns that epoch,
 * so that the ledger continues above it.
 */
const open = `${nowMs}
local pot = redis.call('HMGET', KEYS[1], 'epoch', 'lease')
if pot[1] == ARGV[1] and pot[2] == ARGV[5] then return { 'opened' } end
if pot[1] and tonumber(pot[1]) >= tonumber(ARGV[1]) then return { 'stale', tonumber(pot[1]) } end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'lease', ARGV[5], 'granted', ARGV[3],
  'admit_until', string.format('%.0f', now_ms(ARGV[2]) + tonumber(ARGV[4])))
for i = 6, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i] .. ':granted', ARGV[i + 1]) end
return { 'opened' }`;

/** ARGV: as for open. Returns the remaining, recalled and granted amounts. */
const enlarge = `${nowMs}${amountFunctions}${sameEpoch}
if redis.call('HGET', KEYS[1], 'lease') ~= ARGV[5] then return { 'gone' } end
if redis.call('HEXISTS', KEYS[1], 'closed') == 1 then return { 'closed' } end
local function raise(field, value)
  if tonumber(redis.call('HGET', KEYS[1], field) or -1) < tonumber(value) then redis.call('HSET', KEYS[1], field, value) end
end
raise('granted', ARGV[3])
raise('admit_until', string.format('%.0f', now_ms(ARGV[2]) + tonumber(ARGV[4])))
for i = 6, #ARGV, 2 do raise(ARGV[i] .. ':granted', ARGV[i + 1]) end
local left, granted, recalled = remaining('')
return { 'granted', left, recalled, granted }`;

/**
 * KEYS[3…] are rate limits. ARGV: epoch, now or '', request, amount, smallest accepted amount, number of budgets, the budgets,
 * then size, window and cost of each limit. Reserves as much as lease and budgets have, between the two amounts, and counts
 * the costs against the limits; or does neither. Always returns the remaining and granted amounts, the reserved amount, the
 * budget that is too small, and the usage of each limit. If lease or budget is too small, the reserved amount is that of
 * other requests.
 */
const reserve = `${nowMs}${limitFunctions}
local budgets = tonumber(ARGV[6])
local now = now_ms(ARGV[2])
local passed = look_at_limits(now, 2, 6 + budgets)
local pot = redis.call('HMGET', KEYS[1], 'epoch', 'granted', 'recalled', 'reserved', 'spent', 'admit_until', 'closed')
local here = pot[1] == ARGV[1]
local granted, left = 0, 0
local function answer(outcome, amount, budget)
  return { outcome, left, granted, amount, budget, unpack(used) }
end
if here then
  granted = tonumber(pot[2])
  left = granted - tonumber(pot[3] or 0) - tonumber(pot[4] or 0) - tonumber(pot[5] or 0)
  local kept = redis.call('HGET', KEYS[2], ARGV[3])
  if kept then return answer('admitted', tonumber(string.match(kept, '^%d+')), 0) end
end
if not passed then return answer('limited', 0, 0) end
if not here then return answer('gone', 0, 0) end
if pot[7] then return answer('closed', 0, 0) end
if now >= tonumber(pot[6]) then return answer('expired', 0, 0) end
local amount, least = tonumber(ARGV[4]), tonumber(ARGV[5])
if least > left then return answer('dry', tonumber(pot[4] or 0), 0) end
amount = math.min(amount, left)
for i = 1, budgets do
  local id = ARGV[6 + i]
  local kept = redis.call('HMGET', KEYS[1], id .. ':granted', id .. ':recalled', id .. ':reserved', id .. ':spent')
  local lent = tonumber(kept[1] or 0)
  local rest = lent - tonumber(kept[2] or 0) - tonumber(kept[3] or 0) - tonumber(kept[4] or 0)
  if least > rest then
    left, granted = rest, lent
    return answer('budget dry', tonumber(kept[3] or 0), i)
  end
  amount = math.min(amount, rest)
end
local reserved = string.format('%.0f', amount)
local kept = reserved
redis.call('HINCRBY', KEYS[1], 'reserved', reserved)
for i = 1, budgets do
  redis.call('HINCRBY', KEYS[1], ARGV[6 + i] .. ':reserved', reserved)
  kept = kept .. ' ' .. ARGV[6 + i]
end
redis.call('HSET', KEYS[2], ARGV[3], kept)
count_limits(now, 2)
left = left - amount
return answer('admitted', amount, 0)`;

/**
 * Settles many requests of one gateway. KEYS[3…] are rate limits that get a refund. ARGV: epoch, now or '', number of requests,
 * each request with its used amount, then size, window and (negative) cost of each limit. A missing request was settled
 * before. Returns the remaining and granted amounts and the number of requests found.
 */
const settle = `${nowMs}${limitFunctions}${amountFunctions}
local requests = tonumber(ARGV[3])
local now = now_ms(ARGV[2])
look_at_limits(now, 2, 3 + 2 * requests)
count_limits(now, 2)${sameEpoch}
local ids = {}
for i = 1, requests do ids[i] = ARGV[2 + 2 * i] end
local kept = redis.call('HMGET', KEYS[2], unpack(ids))
local back, spent, prefixes, found = {}, {}, {}, {}
for i = 1, requests do
  if kept[i] then
    found[#found + 1] = ids[i]
    local words = string.gmatch(kept[i], '%S+')
    local amount, actual = tonumber(words()), tonumber(ARGV[3 + 2 * i])
    local prefix = ''
    while prefix do
      if not back[prefix] then
        prefixes[#prefixes + 1] = prefix
        back[prefix], spent[prefix] = 0, 0
      end
      back[prefix], spent[prefix] = back[prefix] + amount, spent[prefix] + actual
      local budget = words()
      prefix = budget and budget .. ':'
    end
  end
end
if #found > 0 then redis.call('HDEL', KEYS[2], unpack(found)) end
for _, prefix in ipairs(prefixes) do
  if back[prefix] > 0 then redis.call('HINCRBY', KEYS[1], prefix .. 'reserved', string.format('-%.0f', back[prefix])) end
  if spent[prefix] > 0 then redis.call('HINCRBY', KEYS[1], prefix .. 'spent', string.format('%.0f', spent[prefix])) end
end
local left, granted = remaining('')
return { 'settled', left, granted, #found }`;

/** ARGV: epoch, the recalled amount in the ledger, the amount wanted beyond that. Returns the total recalled amount. */
const recall = `${amountFunctions}${sameEpoch}
local left, granted, recalled = remaining('')
local taken = math.max(0, math.min(tonumber(ARGV[3]) - (recalled - tonumber(ARGV[2])), left))
if taken > 0 then redis.call('HINCRBY', KEYS[1], 'recalled', string.format('%.0f', taken)) end
return { 'recalled', recalled + taken }`;

/** ARGV: epoch, then the budgets. Returns the total recalled amounts of the lease and of each budget. */
const close = `${amountFunctions}${sameEpoch}
redis.call('HSET', KEYS[1], 'closed', '1')
local answer = { 'closed' }
local function empty(prefix)
  local left, granted, recalled = remaining(prefix)
  if left > 0 then redis.call('HINCRBY', KEYS[1], prefix .. 'recalled', string.format('%.0f', left)) end
  answer[#answer + 1] = recalled + math.max(0, left)
end
empty('')
for i = 2, #ARGV do empty(ARGV[i] .. ':') end
return answer`;

/** ARGV: epoch. KEYS[2…] are the reservations of the closed lease. */
const remove = `
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
return { 'forgotten' }`;

function scriptForServer(server: LeaseServer, name: string, body: string): ValkeyScript {
  const guard =
    name === 'settle'
      ? ''
      : `
if not string.find(redis.call('INFO', 'replication'), 'master_replid:${server.incarnation}', 1, true) then
  return { 'foreign' }
end`;
  return defineScript(
    `pot ${name}`,
    `-- ${name}, pot server ${server.namespace} generation ${server.generation}${guard}${body}\n`,
  );
}

export function leaseScripts(server: LeaseServer): LeaseScripts {
  if (!/^[0-9a-f]{40}$/.test(server.incarnation)) {
    throw new TypeError(`Invalid replication id: ${JSON.stringify(server.incarnation)}`);
  }
  return {
    open: scriptForServer(server, 'open', open),
    enlarge: scriptForServer(server, 'enlarge', enlarge),
    reserve: scriptForServer(server, 'reserve', reserve),
    settle: scriptForServer(server, 'settle', settle),
    recall: scriptForServer(server, 'recall', recall),
    close: scriptForServer(server, 'close', close),
    remove: scriptForServer(server, 'forget', remove),
  };
}
