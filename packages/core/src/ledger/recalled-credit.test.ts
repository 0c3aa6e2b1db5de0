import { Fault } from '@millrace/platform/fault';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { InsufficientFundsError, retryWithRecalledCredit, type RecallCredit } from './recalled-credit.ts';

const owner = { orgId: testIds.next('org'), mode: 'live' } as const;
const short = (amount: bigint): Fault =>
  new Fault('INSUFFICIENT_BALANCE', { cause: new InsufficientFundsError(amount) });

/** Work that is short of `missing`, and a credit lease that can return `leased`. */
function setUp(missing: bigint, leased: bigint) {
  let available = 0n;
  let tries = 0;
  const recall: RecallCredit = async ({ amount }) => {
    const freed = amount !== 'all' && amount < leased ? amount : leased;
    available += freed;
    return freed;
  };
  const work = async (): Promise<string> => {
    tries += 1;
    if (available < missing) throw short(missing - available);
    return 'done';
  };
  return { recall, work, tries: () => tries, available: () => available };
}

describe('retryWithRecalledCredit', () => {
  it('retries with recalled credit and recalls no more than is missing', async () => {
    const { recall, work, tries, available } = setUp(70n, 100n);
    expect(await retryWithRecalledCredit(owner, recall, work)).toBe('done');
    expect([tries(), available()]).toEqual([2, 70n]);
  });

  it('rethrows the refusal if the recall returns nothing, fails or is not configured', async () => {
    for (const recall of [setUp(70n, 0n).recall, () => Promise.reject(new Error('unreachable')), undefined]) {
      const { work, tries } = setUp(70n, 0n);
      await expect(retryWithRecalledCredit(owner, recall, work)).rejects.toThrow(Fault);
      expect(tries()).toBe(1);
    }
  });

  it('retries with a part of the missing amount and is then refused for the rest', async () => {
    const { recall, work, tries } = setUp(70n, 69n);
    await expect(retryWithRecalledCredit(owner, recall, work)).rejects.toMatchObject({
      cause: { amount: 1n },
    });
    expect(tries()).toBe(2);
  });

  it('tries at most twice', async () => {
    let tries = 0;
    const work = async (): Promise<never> => {
      tries += 1;
      throw short(5n);
    };
    await expect(retryWithRecalledCredit(owner, async () => 5n, work)).rejects.toThrow(Fault);
    expect(tries).toBe(2);
  });

  it('recalls nothing if the work fails for another reason', async () => {
    const recall: RecallCredit = () => expect.fail('recalled');
    for (const error of [new Fault('BUDGET_EXCEEDED'), new Error('other')]) {
      await expect(retryWithRecalledCredit(owner, recall, () => Promise.reject(error))).rejects.toBe(error);
    }
  });
});
