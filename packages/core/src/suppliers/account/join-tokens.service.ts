import type { Tx } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { JoinTokenId } from '@millrace/platform/ids';
import { findProvider, takesSuppliersMachines } from '../../fleet/index.ts';
import {
  appendAuditEntry,
  authorizeCaller,
  findOrganisation,
  type CallContext,
} from '../../identity/index.ts';
import { hashJoinToken, mintJoinToken, problemWithToken, type JoinToken } from './join-tokens.ts';
import {
  countUsableTokens,
  incrementTokenUse,
  insertJoinToken,
  lockTokenByHash,
  revokeToken,
  type NewJoinToken,
} from './join-tokens.store.ts';
import { requireApprovedSupplier } from './suppliers.service.ts';

/** Issues, revokes and consumes join tokens. Lock order: organisation, supplier, token. */

/** Any machine with a token can ask to join, so a supplier has only as many tokens as it can keep track of. */
export const USABLE_TOKENS_MAX = 100;

export interface IssuedToken {
  readonly token: JoinToken;
  /** The token in clear text. It exists only here and in the response. */
  readonly text: string;
}

export async function createJoinToken(
  tx: Tx,
  call: CallContext,
  request: NewJoinToken,
  providerId: string,
): Promise<IssuedToken> {
  const { key } = await authorizeCaller(tx, call, 'supplier:write');
  const supplier = await requireApprovedSupplier(tx, call.orgId);
  await requireRegion(tx, providerId, request.region);
  if ((await countUsableTokens(tx, call.orgId, tx.clock.now())) >= USABLE_TOKENS_MAX) {
    throw new Fault('JOIN_TOKEN_LIMIT_REACHED');
  }
  const { text, sha256 } = mintJoinToken();
  const token = await insertJoinToken(tx, supplier, { ...request, sha256, createdBy: key.userId });
  const { clusterName, region, maxMachines, expiresAt } = token;
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'join_token.created',
    resource: { kind: 'join-token', id: token.id },
    after: { clusterName, region, maxMachines, expiresAt: expiresAt.toISOString() },
  });
  return { token, text };
}

async function requireRegion(tx: Tx, providerId: string, region: string): Promise<void> {
  const provider = await findProvider(tx, providerId);
  const regions = provider?.regions.filter((known) => known.configured && known.enabled) ?? [];
  const isOpen =
    provider !== null && provider.configured && provider.enabled && takesSuppliersMachines(provider);
  if (!isOpen || regions.length === 0) throw new Fault('MARKETPLACE_NOT_OPEN');
  if (regions.some((known) => known.region === region)) return;
  throw invalidField(['region'], `is not one of ${regions.map((known) => known.region).join(', ')}`);
}

/** Stops further joins; machines that joined stay. Idempotent. */
export async function revokeJoinToken(tx: Tx, call: CallContext, id: JoinTokenId): Promise<void> {
  await authorizeCaller(tx, call, 'supplier:write');
  const isRevoked = await revokeToken(tx, call.orgId, id);
  if (isRevoked === null) throw new Fault('JOIN_TOKEN_NOT_FOUND');
  if (!isRevoked) return;
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'join_token.revoked',
    resource: { kind: 'join-token', id },
  });
}

/** Counts one use in the caller's transaction, so a rollback frees it. Concurrent callers cannot exceed the limit. */
export async function consumeJoinToken(tx: Tx, text: string): Promise<JoinToken> {
  const token = await lockUsableToken(tx, text, (found) => found);
  await incrementTokenUse(tx, token.orgId, token.id);
  return { ...token, usedMachines: token.usedMachines + 1 };
}

/** For a repeated request whose use was counted already: the token must be valid, but need not have uses left. */
export async function requireUsableToken(tx: Tx, text: string): Promise<void> {
  await lockUsableToken(tx, text, (found) => ({ ...found, usedMachines: 0 }));
}

async function lockUsableToken(
  tx: Tx,
  text: string,
  checkedAs: (found: JoinToken) => JoinToken,
): Promise<JoinToken> {
  const sha256 = hashJoinToken(text);
  const token = sha256 === null ? null : await lockTokenByHash(tx, sha256);
  if (token === null) throw new Fault('JOIN_TOKEN_INVALID');
  const problem = problemWithToken(checkedAs(token), tx.clock.now());
  if (problem !== null) throw new Fault('JOIN_TOKEN_INVALID', { message: problem });
  await requireApprovedSupplier(tx, token.orgId);
  const organisation = await findOrganisation(tx, token.orgId);
  if (organisation?.status !== 'active') throw new Fault('ORGANISATION_SUSPENDED');
  return token;
}
