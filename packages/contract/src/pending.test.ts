import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import baseline from '../pending.baseline.json' with { type: 'json' };
import { contract } from './contract.ts';
import { capabilities, compareServed, isPending, pendingOperations, servedOperationIds } from './pending.ts';

const contractIds = Object.keys(contract.operations);
const pendingIds = Object.keys(pendingOperations);

/**
 * The SHA-256 of the list as it first stood, one id a line. It is the one thing here that never changes: with it
 * nothing can become pending that was not pending on the first day, and an operation that is new is served at once.
 */
const firstDigest = '41521ad41f51b59a0a7bae8d3fd6d7ae47a34232666019ac5ae11f82514256b5';

describe('the list of operations not yet implemented', () => {
  it('begins with a first list that is never edited', () => {
    const digest = createHash('sha256').update(baseline.first.join('\n')).digest('hex');
    const advice =
      '`first` in pending.baseline.json is history and is not edited. A new operation is served by the change that ' +
      'adds it. An operation that was delivered leaves pending.ts and joins `delivered`.';
    expect(digest, advice).toBe(firstDigest);
  });

  it('only shrinks: it is the first list without what was delivered, and nothing is delivered back', () => {
    const { first, delivered } = baseline as { first: string[]; delivered: string[] };
    expect(delivered.filter((id) => !first.includes(id))).toEqual([]);
    expect(new Set(delivered).size).toBe(delivered.length);
    const left = first.filter((id) => !delivered.includes(id));
    const advice =
      'Delivered: take the id out of pending.ts and add it to `delivered` in pending.baseline.json, which only grows.';
    expect(pendingIds.toSorted(), advice).toEqual(left.toSorted());
  });

  it('names only operations of the contract, each with a capability of the plan', () => {
    expect(pendingIds.filter((id) => !contractIds.includes(id))).toEqual([]);
    for (const capability of Object.values(pendingOperations)) expect(capabilities).toContain(capability);
  });

  it('and what must be served make up the whole contract without overlap', () => {
    const served = servedOperationIds(contract);
    expect([...served, ...pendingIds].toSorted()).toEqual(contractIds.toSorted());
    expect(served.filter((id) => isPending(id))).toEqual([]);
  });
});

describe.each(['api', 'gateway'] as const)('the comparison with what the %s really serves', (by) => {
  const promised = servedOperationIds(contract, by);

  it('finds no difference when exactly the promised operations are served', () => {
    expect(compareServed(contract, by, promised)).toEqual({ missing: [], stillPending: [], unknown: [] });
  });

  it('finds a promised operation that nobody serves', () => {
    expect(compareServed(contract, by, promised.slice(1)).missing).toEqual([promised[0]]);
  });

  it('finds an operation that is served while still listed as pending', () => {
    const [first = 'none'] = promised;
    const { stillPending } = compareServed(contract, by, promised, (id) => id === first);
    expect(stillPending).toEqual([first]);
  });

  it('finds a served operation that the contract does not know', () => {
    expect(compareServed(contract, by, [...promised, 'getWeather']).unknown).toEqual(['getWeather']);
  });

  it("finds an operation that is another process's to serve", () => {
    const [other = 'none'] = servedOperationIds(contract, by === 'api' ? 'gateway' : 'api');
    expect(compareServed(contract, by, [...promised, other]).unknown).toEqual([other]);
  });
});
