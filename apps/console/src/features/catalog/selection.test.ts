import { describe, expect, it } from 'vitest';
import { makeOffer } from './offers.fixture.ts';
import {
  countIssue,
  selectionForOffer,
  parseSelection,
  selectionFromSpec,
  locationsFor,
  sizesFor,
  toQuoteRequest,
  resolveSpec,
  type RentalSpec,
} from './selection.ts';

const cheap = makeOffer({ region: 'us-east-1', pricePerHourNanoUsd: '1000000000', totalAvailable: 0 });
const free = makeOffer({ region: 'us-central-1', pricePerHourNanoUsd: '2000000000' });
const freeTwo = makeOffer({ region: 'us-central-1', gpuCount: 2, pricePerHourNanoUsd: '4000000000' });
const metal = makeOffer({
  machineType: 'bare-metal',
  gpuCount: 8,
  connectionType: 'infiniband',
  pricePerHourNanoUsd: '8000000000',
});
const all = [cheap, freeTwo, free, metal];

const spec: RentalSpec = {
  gpu: 'h100',
  type: 'virtual-machine',
  count: 1,
  region: 'us-central-1',
  network: 'ethernet',
  days: null,
};

describe('picks', () => {
  it('are written to the URL and read back', () => {
    expect(parseSelection({ ...selectionForOffer(metal) })).toEqual(selectionForOffer(metal));
    expect(parseSelection({ ...selectionFromSpec({ ...spec, days: 30 }) })).toEqual({
      ...selectionForOffer(free),
      days: 30,
    });
    expect(parseSelection({ gpu: ['h100'], type: 'vm', count: -1, network: 'wifi', days: 'soon' })).toEqual(
      {},
    );
  });

  it('default to the cheapest available offer, not the cheapest of all', () => {
    expect(resolveSpec({ type: 'virtual-machine' }, all)).toEqual(spec);
    expect(resolveSpec({}, [cheap])?.region).toBe('us-east-1');
    expect(resolveSpec({}, [])).toBeNull();
  });

  it('keep chosen values that no offer has', () => {
    const odd = { gpu: 'b200', type: 'virtual-machine', count: 64, region: 'jp-east-1' } as const;
    expect(resolveSpec(odd, all)).toMatchObject(odd);
    expect(resolveSpec({ ...selectionForOffer(cheap), days: 7 }, all)).toMatchObject({
      region: 'us-east-1',
      days: 7,
    });
  });

  it('resolve a size between two listed ones to locations with larger machines', () => {
    const large = makeOffer({ region: 'eu-west-1', gpuCount: 4, pricePerHourNanoUsd: '20000000000' });
    expect(resolveSpec({ count: 3, type: 'virtual-machine' }, [...all, large])).toMatchObject({
      count: 3,
      region: 'eu-west-1',
    });
  });

  it('resolve to themselves once complete', () => {
    for (const picks of [{}, { gpu: 'h100' }, { type: 'bare-metal' as const }, { count: 2 }]) {
      const first = resolveSpec(picks, all);
      expect(first).not.toBeNull();
      if (first !== null) expect(resolveSpec(selectionFromSpec(first), all)).toEqual(first);
    }
  });
});

describe('locationsFor and sizesFor', () => {
  it('list every location, cheapest first, and whether the size is available there', () => {
    expect(locationsFor(spec, all).map(({ region, hasRoom }) => ({ region, hasRoom }))).toEqual([
      { region: 'us-east-1', hasRoom: false },
      { region: 'us-central-1', hasRoom: true },
    ]);
    expect(locationsFor({ ...spec, count: 4 }, all).map(({ hasRoom }) => hasRoom)).toEqual([false, false]);
  });

  it('list the sizes of the chosen location, smallest first', () => {
    expect(sizesFor(spec, all)).toEqual([free, freeTwo]);
    expect(sizesFor({ ...spec, network: 'infiniband' }, all)).toEqual([]);
  });

  it('accept whole GPUs, and for bare metal whole nodes', () => {
    expect(countIssue(spec)).toBeNull();
    expect(countIssue({ ...spec, count: 0 })).not.toBeNull();
    expect(countIssue({ ...spec, count: 1.5 })).not.toBeNull();
    expect(countIssue({ type: 'bare-metal', count: 12 })).toContain('8, 16, 24');
    expect(countIssue({ type: 'bare-metal', count: 16 })).toBeNull();
  });
});

describe('toQuoteRequest', () => {
  it('includes a term only if one is chosen', () => {
    const wire = {
      rentalType: 'virtual-machine',
      gpuCount: 1,
      gpuType: 'h100',
      region: 'us-central-1',
      networkType: 'ethernet',
    };
    expect(toQuoteRequest(spec)).toEqual(wire);
    expect(toQuoteRequest({ ...spec, days: 30 })).toEqual({
      ...wire,
      termType: 'reserved',
      termPeriodDays: 30,
    });
  });
});
