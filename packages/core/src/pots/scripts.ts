import { defineScript, type ValkeyScript } from '@millrace/platform/valkey';

/** One run of a pot Valkey, as the book knows it. */
export interface PotServer {
  /** Keeps installations that share a server apart. */
  readonly namespace: string;
  readonly generation: bigint;
  /** Its replication id: a server that takes over another's data gets another one. */
  readonly incarnation: string;
}

export interface PotScripts {
  readonly open: ValkeyScript;
  readonly enlarge: ValkeyScript;
  readonly reserve: ValkeyScript;
  readonly settle: ValkeyScript;
  readonly recall: ValkeyScript;
  readonly close: ValkeyScript;
  readonly forget: ValkeyScript;
}

/*
 * The text of each script names the generation, so its digest does too. The scripts are loaded once, by the worker that
 * makes a server ready for a generation, and called by digest alone. The script cache is neither written to disk nor
 * replicated: a server that was restarted, restored or promoted does not know the digest and refuses.
 *
 * A running server can also be given another's data (REPLICAOF) and keeps its scripts then; its replication id changes.
 * So whatever lends, spends or takes back compares that first. Settling does not: it only finds its own reservation.
 *
 * KEYS[1] is the pot, a hash: epoch, granted, recalled, reserved, spent, admit_until, closed, and for each budget lent
 * with it <id>:granted and so on. KEYS[2] holds the reservations of one gateway in one epoch: request -> amount, budgets.
 * Amounts are whole nano-USD below 2^53, which Lua keeps exactly; they are written as they came or by HINCRBY, never
 * printed by Lua. ARGV[1] is the epoch everywhere; a pot without it, or with another, is not the one meant.
 */

const whole = `
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

/** ARGV: epoch, now or '', granted, ms of admission, then id and granted of each budget. */
const open = `${nowMs}
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if epoch == ARGV[1] then return { 'opened' } end
if epoch and tonumber(epoch) > tonumber(ARGV[1]) then return { 'stale' } end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'granted', ARGV[3],
  'admit_until', string.format('%.0f', now_ms(ARGV[2]) + tonumber(ARGV[4])))
for i = 5, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i] .. ':granted', ARGV[i + 1]) end
return { 'opened' }`;

/** ARGV: as for open. Answers what remains, and what was recalled in all. */
const enlarge = `${nowMs}${whole}${sameEpoch}
if redis.call('HEXISTS', KEYS[1], 'closed') == 1 then return { 'closed' } end
local function raise(field, value)
  if tonumber(redis.call('HGET', KEYS[1], field) or -1) < tonumber(value) then redis.call('HSET', KEYS[1], field, value) end
end
raise('granted', ARGV[3])
raise('admit_until', string.format('%.0f', now_ms(ARGV[2]) + tonumber(ARGV[4])))
for i = 5, #ARGV, 2 do raise(ARGV[i] .. ':granted', ARGV[i + 1]) end
local left, granted, recalled = remaining('')
return { 'granted', left, recalled }`;

/** ARGV: epoch, now or '', request, amount, then the budgets. Answers what remains and what was granted in all. */
const reserve = `${nowMs}
local pot = redis.call('HMGET', KEYS[1], 'epoch', 'granted', 'recalled', 'reserved', 'spent', 'admit_until', 'closed')
if pot[1] ~= ARGV[1] then return { 'gone' } end
local granted = tonumber(pot[2])
local left = granted - tonumber(pot[3] or 0) - tonumber(pot[4] or 0) - tonumber(pot[5] or 0)
if redis.call('HEXISTS', KEYS[2], ARGV[3]) == 1 then return { 'admitted', left, granted } end
if pot[7] then return { 'closed' } end
if now_ms(ARGV[2]) >= tonumber(pot[6]) then return { 'expired' } end
local amount = tonumber(ARGV[4])
if amount > left then return { 'dry', left, granted } end
for i = 5, #ARGV do
  local kept = redis.call('HMGET', KEYS[1], ARGV[i] .. ':granted', ARGV[i] .. ':recalled', ARGV[i] .. ':reserved',
    ARGV[i] .. ':spent')
  local lent = tonumber(kept[1] or 0)
  local rest = lent - tonumber(kept[2] or 0) - tonumber(kept[3] or 0) - tonumber(kept[4] or 0)
  if amount > rest then return { 'budget dry', rest, lent, ARGV[i] } end
end
redis.call('HINCRBY', KEYS[1], 'reserved', ARGV[4])
local kept = ARGV[4]
for i = 5, #ARGV do
  redis.call('HINCRBY', KEYS[1], ARGV[i] .. ':reserved', ARGV[4])
  kept = kept .. ' ' .. ARGV[i]
end
redis.call('HSET', KEYS[2], ARGV[3], kept)
return { 'admitted', left - amount, granted }`;

/** ARGV: epoch, request, what was really spent. */
const settle = `${whole}${sameEpoch}
local kept = redis.call('HGET', KEYS[2], ARGV[2])
if not kept then return { 'gone' } end
redis.call('HDEL', KEYS[2], ARGV[2])
local words = string.gmatch(kept, '%S+')
local amount = words()
local back = amount == '0' and '0' or '-' .. amount
local function turn(prefix)
  redis.call('HINCRBY', KEYS[1], prefix .. 'reserved', back)
  redis.call('HINCRBY', KEYS[1], prefix .. 'spent', ARGV[3])
end
turn('')
for budget in words do turn(budget .. ':') end
local left, granted = remaining('')
return { 'settled', left, granted }`;

/** ARGV: epoch, what the book has as recalled, how much is wanted beyond that. Answers what was recalled in all. */
const recall = `${whole}${sameEpoch}
local left, granted, recalled = remaining('')
local taken = math.max(0, math.min(tonumber(ARGV[3]) - (recalled - tonumber(ARGV[2])), left))
if taken > 0 then redis.call('HINCRBY', KEYS[1], 'recalled', string.format('%.0f', taken)) end
return { 'recalled', recalled + taken }`;

/** ARGV: epoch, then the budgets. Answers what was recalled in all, of the pot and of each budget. */
const close = `${whole}${sameEpoch}
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
const forget = `
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
return { 'forgotten' }`;

function ofServer(server: PotServer, name: keyof PotScripts, body: string): ValkeyScript {
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

const incarnationShape = /^[0-9a-f]{40}$/;

export function potScripts(server: PotServer): PotScripts {
  if (!incarnationShape.test(server.incarnation)) {
    throw new TypeError(`Not a replication id: ${JSON.stringify(server.incarnation)}.`);
  }
  return {
    open: ofServer(server, 'open', open),
    enlarge: ofServer(server, 'enlarge', enlarge),
    reserve: ofServer(server, 'reserve', reserve),
    settle: ofServer(server, 'settle', settle),
    recall: ofServer(server, 'recall', recall),
    close: ofServer(server, 'close', close),
    forget: ofServer(server, 'forget', forget),
  };
}
