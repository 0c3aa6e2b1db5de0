import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { hashJoinToken, mintJoinToken, problemWithToken, type JoinToken } from './join-tokens.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const token: JoinToken = {
  id: testIds.next('jtk'),
  supplierId: testIds.next('sup'),
  orgId: testIds.next('org'),
  description: '',
  clusterName: 'c1',
  region: 'us-central-1',
  maxMachines: 2,
  usedMachines: 1,
  expiresAt: new Date('2026-01-01T12:00:01Z'),
  revokedAt: null,
  createdAt: NOW,
};

describe('join tokens', () => {
  it('are found by their hash, and other texts have no hash', () => {
    const { text, sha256 } = mintJoinToken();
    expect(text).toMatch(/^mrj_[0-9a-f]{64}$/);
    expect(hashJoinToken(text)).toEqual(sha256);
    for (const other of [
      '',
      'mrj_',
      ` ${text}`,
      `${text}\n`,
      text.toUpperCase(),
      text.slice(0, -1),
      `${text}0`,
    ]) {
      expect(hashJoinToken(other), JSON.stringify(other)).toBeNull();
    }
  });

  it('contain all bytes of the random source', () => {
    const bytes = Uint8Array.from({ length: 32 }, (_, index) => index);
    const { text } = mintJoinToken((count) => bytes.subarray(0, count));
    expect(text).toBe(`mrj_${Buffer.from(bytes).toString('hex')}`);
    expect(mintJoinToken().text).not.toBe(mintJoinToken().text);
  });

  it.each<[string, Partial<JoinToken>, RegExp | null]>([
    ['problemWithToken accepts a token with uses left', {}, null],
    ['problemWithToken refuses a revoked token', { revokedAt: NOW }, /revoked/],
    [
      'problemWithToken refuses a token that expires at this instant',
      { expiresAt: NOW },
      /expired at 2026-01-01T12:00:00.000Z/,
    ],
    [
      'problemWithToken refuses a token with all machines joined',
      { usedMachines: 2 },
      /2 machines, and is used up/,
    ],
    [
      'problemWithToken refuses a used token for one machine',
      { maxMachines: 1 },
      /one machine, and is used up/,
    ],
  ])('%s', (_what, fields, problem) => {
    const found = problemWithToken({ ...token, ...fields }, NOW);
    if (problem === null) expect(found).toBeNull();
    else expect(found).toMatch(problem);
  });
});
