import { createHash, randomBytes } from 'node:crypto';
import type { JoinTokenId, OrgId, SupplierId } from '@millrace/platform/ids';
import type { RandomBytes } from '../../identity/index.ts';

/** With a join token machines join, without a key of their supplier being on them. Pure but for the dice. */

export interface JoinToken {
  readonly id: JoinTokenId;
  readonly supplierId: SupplierId;
  readonly orgId: OrgId;
  readonly description: string;
  /** What the marketplace shows as the cluster of the machines that join with it. */
  readonly clusterName: string;
  readonly region: string;
  readonly maxMachines: number;
  readonly usedMachines: number;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
}

export interface MintedToken {
  /** The whole token, to be shown once. */
  readonly text: string;
  readonly sha256: Buffer;
}

const SECRET_BYTES = 32;
const joinTokenPattern = /^mrj_[0-9a-f]{64}$/;

/** `mrj_` and 256 random bits. There is nothing to guess, so one plain SHA-256 is enough to know it by. */
export function mintJoinToken(random: RandomBytes = randomBytes): MintedToken {
  const text = `mrj_${Buffer.from(random(SECRET_BYTES)).toString('hex')}`;
  return { text, sha256: sha256Of(text) };
}

/** What a token is found by; null for anything that is none. */
export function hashJoinToken(text: string): Buffer | null {
  return joinTokenPattern.test(text) ? sha256Of(text) : null;
}

function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/** Why no machine can join with it, or null. Whoever asks has the token, so there is nothing to hide. */
export function problemWithToken(token: JoinToken, now: Date): string | null {
  if (token.revokedAt !== null) return 'The join token was revoked.';
  if (token.expiresAt <= now) return `The join token has expired at ${token.expiresAt.toISOString()}.`;
  if (token.usedMachines >= token.maxMachines) {
    return `The join token was for ${token.maxMachines === 1 ? 'one machine' : `${token.maxMachines} machines`}, and is used up.`;
  }
  return null;
}
