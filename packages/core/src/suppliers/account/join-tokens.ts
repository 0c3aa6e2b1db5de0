import { createHash, randomBytes } from 'node:crypto';
import type { JoinTokenId, OrgId, SupplierId } from '@millrace/platform/ids';
import type { RandomBytes } from '../../identity/index.ts';

/** Machines join with a join token, so that no API key of the supplier is on them. */

export interface JoinToken {
  readonly id: JoinTokenId;
  readonly supplierId: SupplierId;
  readonly orgId: OrgId;
  readonly description: string;
  /** The cluster name that the marketplace shows for machines that join with this token. */
  readonly clusterName: string;
  readonly region: string;
  readonly maxMachines: number;
  readonly usedMachines: number;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
}

export interface MintedToken {
  readonly text: string;
  readonly sha256: Buffer;
}

const SECRET_BYTES = 32;
const joinTokenPattern = /^mrj_[0-9a-f]{64}$/;

/** `mrj_` and 256 random bits. It cannot be guessed, so one plain SHA-256 is enough to find it by. */
export function mintJoinToken(random: RandomBytes = randomBytes): MintedToken {
  const text = `mrj_${Buffer.from(random(SECRET_BYTES)).toString('hex')}`;
  return { text, sha256: sha256Of(text) };
}

export function hashJoinToken(text: string): Buffer | null {
  return joinTokenPattern.test(text) ? sha256Of(text) : null;
}

function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/** The reason why no machine can join with the token, or null. The caller has the token, so the reason is not secret. */
export function problemWithToken(token: JoinToken, now: Date): string | null {
  if (token.revokedAt !== null) return 'The join token was revoked. Create a new one.';
  if (token.expiresAt <= now)
    return `The join token expired at ${token.expiresAt.toISOString()}. Create a new one.`;
  if (token.usedMachines >= token.maxMachines) {
    return `The join token was for ${token.maxMachines === 1 ? 'one machine' : `${token.maxMachines} machines`}, and is used up. Create a new one.`;
  }
  return null;
}
