import { commandsOf, defineScript, type ValkeyGrant } from '@millrace/platform/valkey';

/*
 * Records which organisation's prompt is in which engine slot, shared by all gateways. KEYS[1] is a hash per engine:
 * <slot>:owner, :prefix, :used (ms), :busy (requests), :until (ms, after which :busy expires), and mixed, mixed_until: requests
 * that fill slots of the engine's choice. A slot without an owner has unknown content, which is never reused.
 *
 * A claim by another organisation removes the owner of a slot. The claimant becomes the owner when the engine responds, because a
 * request that was never computed leaves the former prompt in the slot. <slot>:claimant is the organisation of all requests in a
 * busy slot, or empty if there are several; :claim counts the claims of the free slot.
 */
const sharedFunctions = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local key = KEYS[1]
local function number(field)
  return tonumber(redis.call('HGET', key, field) or 0)
end
local function forget_owners()
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local name = string.match(field, ':(.*)$')
    if name == 'owner' or name == 'prefix' or name == 'claimant' then redis.call('HDEL', key, field) end
  end
end`;

/** ARGV: organisation, prefix, slots, ms until a lost release expires, '1' if it fills further slots. */
export const claimSlot = defineScript(
  'claim engine slot',
  `${sharedFunctions}
local org, prefix, slots, lease, several = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local mixed = 0
if number('mixed_until') > now then mixed = number('mixed') end
local best = nil
for slot = 0, slots - 1 do
  local kept = redis.call('HMGET', key, slot .. ':owner', slot .. ':prefix', slot .. ':used', slot .. ':busy', slot .. ':until')
  local busy = 0
  if tonumber(kept[5] or 0) > now then busy = tonumber(kept[4] or 0) end
  local rank = 3
  if kept[1] == org then rank = 2 end
  if kept[1] == org and kept[2] == prefix then rank = 0 elseif not kept[1] then rank = 1 end
  local used = tonumber(kept[3] or 0)
  if best == nil or busy < best.busy or (busy == best.busy and (rank < best.rank or (rank == best.rank and used < best.used))) then
    best = { slot = slot, busy = busy, rank = rank, used = used, owner = kept[1] }
  end
end
local field = best.slot .. ':'
local claimant = org
if several or mixed > 0 or (best.busy > 0 and redis.call('HGET', key, field .. 'claimant') ~= org) then claimant = '' end
if several then
  redis.call('HSET', key, 'mixed', mixed + 1, 'mixed_until', now + lease)
  forget_owners()
end
local reuse = 0
if claimant == org and best.owner == org then
  reuse = 1
else
  redis.call('HDEL', key, field .. 'owner', field .. 'prefix')
end
redis.call('HSET', key, field .. 'claimant', claimant)
local claim = redis.call('HINCRBY', key, field .. 'claim', best.busy == 0 and 1 or 0)
redis.call('HSET', key, field .. 'used', now, field .. 'busy', best.busy + 1, field .. 'until', now + lease)
redis.call('PEXPIRE', key, lease + 86400000)
return { best.slot, reuse, claim }`,
);

/** ARGV: slot, '1' if it filled further slots, organisation, prefix, claim, '1' if the engine responded. */
export const releaseSlot = defineScript(
  'release engine slot',
  `${sharedFunctions}
local busy = number(ARGV[1] .. ':busy')
if busy > 0 then redis.call('HSET', key, ARGV[1] .. ':busy', busy - 1) end
if ARGV[2] == '1' then
  local mixed = number('mixed')
  if mixed > 0 then redis.call('HSET', key, 'mixed', mixed - 1) end
  forget_owners()
elseif ARGV[6] == '1' then
  local claimed = redis.call('HMGET', key, ARGV[1] .. ':claimant', ARGV[1] .. ':claim')
  if claimed[1] == ARGV[3] and claimed[2] == ARGV[5] then
    redis.call('HSET', key, ARGV[1] .. ':owner', ARGV[3], ARGV[1] .. ':prefix', ARGV[4])
  end
end
return 0`,
);

export function engineSlotsKey(address: string): string {
  return `engine-slots:{${address}}`;
}

export const engineSlotsGrant: ValkeyGrant = {
  commands: ['eval', 'evalsha', ...commandsOf([claimSlot, releaseSlot])],
  keys: ['engine-slots:*'],
};
