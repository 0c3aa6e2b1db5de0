import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import baseline from '../pending.baseline.json' with { type: 'json' };
import { contract } from './contract.ts';
import { capabilities, compareServed, isPending, pendingOperations, servedOperationIds } from './pending.ts';

const contractIds = Object.keys(contract.operations);
const pendingIds = Object.keys(pendingOperations);

/** SHA-256 of the first list, one id per line. It must never change, so that no operation becomes pending. */
const firstDigest = '41521ad41f51b59a0a7bae8d3fd6d7ae47a34232666019ac5ae11f82514256b5';

describe('pendingOperations', () => {
  it('starts from a first list that is never edited', () => {
    const digest = createHash('sha256').update(baseline.first.join('\n')).digest('hex');
    const advice =
      'Do not edit `first` in pending.baseline.json. Serve a new operation in the change that adds it. Move a delivered operation from pending.ts to `delivered`.';
    expect(digest, advice).toBe(firstDigest);
  });

  it('equals the first list without the delivered operations, which are never pending again', () => {
    const { first, delivered } = baseline as { first: string[]; delivered: string[] };
    expect(delivered.filter((id) => !first.includes(id))).toEqual([]);
    expect(new Set(delivered).size).toBe(delivered.length);
    const left = first.filter((id) => !delivered.includes(id));
    const advice =
      'Delivered: remove the id from pending.ts and add it to `delivered` in pending.baseline.json, which only grows.';
    expect(pendingIds.toSorted(), advice).toEqual(left.toSorted());
  });

  it('names only operations of the contract, each with a planned capability', () => {
    expect(pendingIds.filter((id) => !contractIds.includes(id))).toEqual([]);
    for (const capability of Object.values(pendingOperations)) expect(capabilities).toContain(capability);
  });

  it('is, with the served operations, the whole contract without overlap', () => {
    const served = servedOperationIds(contract);
    expect([...served, ...pendingIds].toSorted()).toEqual(contractIds.toSorted());
    expect(served.filter((id) => isPending(id))).toEqual([]);
  });
});

describe.each(['api', 'gateway'] as const)('compareServed for the %s', (by) => {
  const promised = servedOperationIds(contract, by);

  it('finds no difference if exactly the promised operations are served', () => {
    expect(compareServed(contract, by, promised)).toEqual({ missing: [], stillPending: [], unknown: [] });
  });

  it('finds a promised operation that is not served', () => {
    expect(compareServed(contract, by, promised.slice(1)).missing).toEqual([promised[0]]);
  });

  it('finds an operation that is served while listed as pending', () => {
    const [first = 'none'] = promised;
    const { stillPending } = compareServed(contract, by, promised, (id) => id === first);
    expect(stillPending).toEqual([first]);
  });

  it('finds a served operation that the contract does not have', () => {
    expect(compareServed(contract, by, [...promised, 'getWeather']).unknown).toEqual(['getWeather']);
  });

  it('finds an operation that another process must serve', () => {
    const [other = 'none'] = servedOperationIds(contract, by === 'api' ? 'gateway' : 'api');
    expect(compareServed(contract, by, [...promised, other]).unknown).toEqual([other]);
  });
});
