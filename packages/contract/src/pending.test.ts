import { describe, expect, it } from 'vitest';
import baseline from '../pending.baseline.json' with { type: 'json' };
import { contract } from './contract.ts';
import { capabilities, compareServed, isPending, pendingOperations, servedOperationIds } from './pending.ts';

const contractIds = Object.keys(contract.operations);
const pendingIds = Object.keys(pendingOperations);

describe('the list of operations not yet implemented', () => {
  it('only shrinks: nothing is pending that was not pending before', () => {
    expect(pendingIds.filter((id) => !baseline.includes(id))).toEqual([]);
  });

  it('stays shrunk: what was delivered has left the baseline too', () => {
    expect(baseline.filter((id) => !isPending(id))).toEqual([]);
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

describe('the comparison with what is really served', () => {
  const promised = servedOperationIds(contract);

  it('finds no difference when exactly the promised operations are served', () => {
    expect(compareServed(contract, promised)).toEqual({ missing: [], stillPending: [], unknown: [] });
  });

  it('finds a promised operation that nobody serves', () => {
    expect(compareServed(contract, promised.slice(1)).missing).toEqual([promised[0]]);
  });

  it('finds an operation that is served while still listed as pending', () => {
    expect(compareServed(contract, [...promised, 'getBalance']).stillPending).toEqual(['getBalance']);
  });

  it('finds a served operation that the contract does not know', () => {
    expect(compareServed(contract, [...promised, 'getWeather']).unknown).toEqual(['getWeather']);
  });
});
