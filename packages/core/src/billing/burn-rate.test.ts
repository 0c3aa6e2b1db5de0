import { nanoUsd } from '@millrace/platform/money';
import { describe, expect, it } from 'vitest';
import { runwayMs, runwaySeconds } from '../ledger/index.ts';
import { toWireBalance, toWireCurrentBalance } from './billing.wire.ts';

describe('runwaySeconds', () => {
  it.each([
    ['nothing is spent', 25_341_234_567n, 0n, 0n, null],
    ['nothing is left', 0n, 0n, 3_980_000_000n, 0],
    ['the balance is overdrawn', -5n, 0n, 3_980_000_000n, 0],
    ['it ends in the middle of a second', 3_980_000_000n, 0n, 3_980_000_001n, 3_599],
    ['it lasts an hour to the second', 3_980_000_000n, 0n, 3_980_000_000n, 3_600],
    ['all remaining money is held for running resources', 0n, 3_980_000_000n, 3_980_000_000n, 3_600],
    [
      'running resources have used more than they hold',
      3_980_000_000n,
      -1_990_000_000n,
      3_980_000_000n,
      1_800,
    ],
    ['it exceeds the largest safe integer', 2n ** 62n, 0n, 1n, Number.MAX_SAFE_INTEGER],
  ])('is correct when %s', (_what, available, cover, burnPerHour, seconds) => {
    const burn = { burnPerHour: nanoUsd(burnPerHour), cover: nanoUsd(cover) };
    expect(runwaySeconds(burn, nanoUsd(available))).toBe(seconds);
    if (seconds !== Number.MAX_SAFE_INTEGER) {
      const ms = runwayMs(burn, nanoUsd(available));
      expect(ms === null ? null : Math.floor(ms * 0.001)).toBe(seconds);
    }
  });
});

describe('balance on the wire', () => {
  const balance = {
    balance: nanoUsd(25_341_234_567n),
    held: nanoUsd(1_200_000_000n),
    available: nanoUsd(24_141_234_567n),
    overdraft: nanoUsd(0n),
    frozen: false,
  };

  it('has the specified fields, with cents rounded down', () => {
    expect(toWireBalance({ ...balance, burnPerHour: nanoUsd(3_980_000_000n), cover: nanoUsd(0n) })).toEqual({
      balanceCents: 2_534,
      maxOverdraftCents: 0,
      balanceNanoUsd: '25341234567',
      heldNanoUsd: '1200000000',
      availableNanoUsd: '24141234567',
      burnRateUsdPerHour: 3.98,
      runwaySeconds: 21_836,
      frozen: false,
    });
  });

  it('rounds a debt down as well, to a whole cent owed', () => {
    const debt = { ...balance, balance: nanoUsd(-1n), held: nanoUsd(0n), available: nanoUsd(0n) };
    expect(toWireCurrentBalance(debt)).toEqual({
      credits: -1,
      currency: 'usd',
      balance_usd: -0.000000001,
      balance_nano_usd: '-1',
      held_nano_usd: '0',
    });
  });
});
