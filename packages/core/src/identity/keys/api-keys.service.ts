import type { EventData } from '@millrace/contract';
import type { Db, Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { KeyId, OrgId, UserId } from '@millrace/platform/ids';
import { appendOutbox } from '@millrace/platform/outbox';
import { resolveKeyRights, effectiveScopes, mayManageAllKeys, delegableScopes } from '../model/key-rights.ts';
import type { KeyRights } from '../model/key-rights.ts';
import { keyPrefix, mintKey, type KeyMode } from '../model/api-key.ts';
import { findKey, hasSuccessor, insertKey, lockKey, setExpiry } from '../model/api-keys.store.ts';
import { appendAuditEntry } from '../model/audit.store.ts';
import { authorizeCaller, type AuthorizedCaller, type CallContext } from '../authorize-caller.service.ts';
import type { ApiKey, AuditContext } from '../model/identity.ts';
import type { PublishKeyChange } from './key-changes.ts';
import { keyLifecycle } from './key-expiry.service.ts';
import { appendKeyEvent, keyEventData } from './key-events.ts';
import { recordRevokedKeys, revokeKey } from './key-revocation.ts';

/** Use cases of API keys, except their expiry. Each runs in the given transaction, including audit entries and events. */

export const UNREVOKED_KEYS_MAX = 500;

export interface IssuedKey {
  readonly key: ApiKey;
  /** The whole key. It exists only here and in the response. */
  readonly text: string;
}

export interface ApiKeyService {
  create(tx: Tx, call: CallContext, request: KeyRights & { readonly name: string }): Promise<IssuedKey>;
  rotate(
    tx: Tx,
    call: CallContext,
    keyId: KeyId,
    overlapMs: number,
  ): Promise<IssuedKey & { readonly previous: { readonly id: KeyId; readonly expiresAt: Date } }>;
  revoke(tx: Tx, call: CallContext, keyId: KeyId): Promise<ApiKey>;
  /** Records keys that the caller has already revoked, for example with their user's membership. */
  recordRevoked(tx: Tx, cause: AuditContext, keys: readonly ApiKey[]): Promise<void>;
}

export interface ApiKeyServiceDeps {
  readonly announce: PublishKeyChange;
  /** Creates rows that must exist with the key, such as its budget account. Also called for replacements (`rotatedFrom`). */
  readonly onKeyCreated?: (tx: Tx, key: ApiKey) => Promise<void>;
}

export function createApiKeyService({ announce, onKeyCreated }: ApiKeyServiceDeps): ApiKeyService {
  return {
    async create(tx, call, request) {
      const caller = await authorizeCaller(tx, call, 'api-keys:write');
      const rights = requireGrantableRights(caller, request, tx.clock.nowMs());
      const { name } = request;
      const fields = { orgId: call.orgId, userId: caller.key.userId, name, rights, needsRoom: true };
      const issued = await issueKey(tx, call.cause, fields);
      await onKeyCreated?.(tx, issued.key);
      return issued;
    },

    async rotate(tx, call, keyId, overlapMs) {
      const caller = await authorizeCaller(tx, call, 'api-keys:write');
      const old = requireVisibleKey(caller, await lockKey(tx, call.orgId, keyId));
      requireReplaceable(old, await hasSuccessor(tx, call.orgId, keyId), tx.clock.now());
      requireOwnKey(caller, old);
      const rights = requireSameRights(caller, old, tx.clock.nowMs());
      const { orgId, userId, name } = old;
      const fields = { orgId, userId, name, rights, rotatedFrom: old.id, needsRoom: overlapMs > 0 };
      const issued = await issueKey(tx, call.cause, fields);
      const expiresAt = endOfOverlap(old, tx.clock.nowMs() + overlapMs);
      if (overlapMs === 0) {
        await revokeKey(tx, call.cause, old, { at: expiresAt, reason: 'rotated', announce });
      } else {
        await setExpiry(tx, orgId, old.id, expiresAt);
        await scheduleKeyExpiry(tx, call.cause, old, expiresAt);
        tx.afterCommit(() => announce({ kind: 'keys', publicIds: [old.publicId] }));
      }
      await onKeyCreated?.(tx, issued.key);
      return { ...issued, previous: { id: old.id, expiresAt } };
    },

    async revoke(tx, call, keyId) {
      const caller = await authorizeCaller(tx, call, 'api-keys:write');
      const key = requireVisibleKey(caller, await lockKey(tx, call.orgId, keyId));
      if (key.userId !== caller.key.userId && !mayManageAllKeys(caller.role)) {
        throw new Fault('SCOPE_ESCALATION', {
          message: 'You can revoke only your own keys. Admins and owners can revoke any key.',
          suggestion: 'Ask the owner of the key, or an admin or owner of the organisation.',
        });
      }
      if (key.revokedAt !== null) return key;
      return revokeKey(tx, call.cause, key, { at: tx.clock.now(), reason: 'revoked', announce });
    },

    recordRevoked: (tx, cause, keys) => recordRevokedKeys(tx, cause, { keys, announce }),
  };
}

/** Creates the key with its audit entry, event and, if it expires, the expiry command. Checks no rights. */
export async function issueKey(
  tx: Tx,
  cause: AuditContext,
  fields: {
    readonly orgId: OrgId;
    readonly userId: UserId;
    readonly name: string;
    readonly rights: KeyRights;
    readonly rotatedFrom?: KeyId;
    /** Rejects if the organisation has the maximum number of keys. */
    readonly needsRoom?: boolean;
  },
): Promise<IssuedKey> {
  const minted = mintKey(fields.rights.mode);
  const { rotatedFrom = null } = fields;
  const { key, unrevokedBefore } = await insertKey(tx, fields.orgId, { ...fields, minted, rotatedFrom });
  if (fields.needsRoom === true && unrevokedBefore >= UNREVOKED_KEYS_MAX) {
    throw new Fault('API_KEY_LIMIT_REACHED');
  }
  await appendAuditEntry(tx, key.orgId, cause, {
    action: 'key.created',
    resource: { kind: 'api-key', id: key.id },
    after: auditedKey(key),
  });
  const data: EventData<'key.created'> = {
    ...keyEventData(key),
    createdBy: key.userId,
    scopes: [...key.scopes],
    expiresAt: key.expiresAt?.toISOString() ?? null,
    rotatedFrom: key.rotatedFrom,
  };
  await appendKeyEvent(tx, cause, key, 'key.created', data, key.createdAt);
  if (key.expiresAt !== null) await scheduleKeyExpiry(tx, cause, key, key.expiresAt);
  return { key, text: minted.text };
}

function requireGrantableRights(caller: AuthorizedCaller, request: KeyRights, nowMs: number): KeyRights {
  const { key, role, platformRoles } = caller;
  const scopes = delegableScopes(key, role, platformRoles);
  const decision = resolveKeyRights({ ...key, scopes }, request, nowMs);
  if (decision.ok) return decision.rights;
  const { kind, issues } = decision;
  throw new Fault(kind === 'invalid' ? 'VALIDATION_FAILED' : 'SCOPE_ESCALATION', { issues });
}

/** A replacement has exactly the rights of the old key, as far as its user still has them. */
function requireSameRights(caller: AuthorizedCaller, old: ApiKey, nowMs: number): KeyRights {
  const scopes = [...effectiveScopes(old, caller.role, caller.platformRoles)];
  const rights = requireGrantableRights(caller, { ...old, scopes }, nowMs);
  const same = JSON.stringify([rights.limits, rights.allowedIps, rights.expiresAt]);
  if (same !== JSON.stringify([old.limits, old.allowedIps, old.expiresAt])) {
    throw new Fault('SCOPE_ESCALATION', {
      message: 'The key you use has stricter limits than the key that you want to rotate.',
      suggestion: 'Use the key itself to rotate it, or a key with at least the same rights.',
    });
  }
  return rights;
}

/** The new secret works in its user's name, so no other user may receive it. */
function requireOwnKey(caller: AuthorizedCaller, key: ApiKey): void {
  if (key.userId === caller.key.userId) return;
  throw new Fault('SCOPE_ESCALATION', {
    message: 'You can rotate only your own keys, because the new key works in its user\u2019s name.',
    suggestion: 'Revoke this key and create your own, or ask its user to rotate it.',
  });
}

function requireReplaceable(key: ApiKey, replaced: boolean, now: Date): void {
  const over = key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now);
  if (!over && !replaced) return;
  throw new Fault('API_KEY_NOT_REPLACEABLE', {
    message: replaced
      ? 'This API key was already replaced.'
      : 'This API key has been revoked or has expired.',
  });
}

/** Absent keys, keys of other organisations, and live keys for a test key get the same response. */
function requireVisibleKey(caller: AuthorizedCaller, key: ApiKey | null): ApiKey {
  if (key === null || !isVisible(caller.key.mode, key)) throw new Fault('API_KEY_NOT_FOUND');
  return key;
}

export function isVisible(mode: KeyMode, item: { readonly mode: KeyMode }): boolean {
  return mode === 'live' || item.mode === 'test';
}

export async function readKey(db: Db, orgId: OrgId, mode: KeyMode, keyId: KeyId): Promise<ApiKey> {
  const key = await findKey(db, orgId, keyId);
  if (key === null || key.kind === 'seat' || !isVisible(mode, key)) throw new Fault('API_KEY_NOT_FOUND');
  return key;
}

function endOfOverlap(old: ApiKey, atMs: number): Date {
  return old.expiresAt !== null && old.expiresAt.getTime() < atMs ? old.expiresAt : new Date(atMs);
}

/** Later expiries are left to the sweep: a call that sleeps for years would be state outside the database backups. */
const COMMAND_AHEAD_MAX_MS = 8 * 24 * 3_600_000;

async function scheduleKeyExpiry(tx: Tx, cause: AuditContext, key: ApiKey, expiresAt: Date): Promise<void> {
  const delayMs = Math.max(0, expiresAt.getTime() - tx.clock.nowMs());
  if (delayMs > COMMAND_AHEAD_MAX_MS) return;
  await appendOutbox(tx, {
    kind: 'command',
    ...keyLifecycle,
    orgId: key.orgId,
    mode: key.mode,
    actor: cause.actor,
    key: key.id,
    payload: { orgId: key.orgId, keyId: key.id },
    delayMs,
  });
}

/** The audited fields of a new key: its rights and its public id. */
function auditedKey(key: ApiKey): Readonly<Record<string, unknown>> {
  return {
    prefix: keyPrefix(key.mode, key.publicId),
    name: key.name,
    userId: key.userId,
    scopes: key.scopes,
    limits: key.limits,
    allowedIps: key.allowedIps,
    expiresAt: key.expiresAt?.toISOString() ?? null,
    rotatedFrom: key.rotatedFrom,
  };
}
