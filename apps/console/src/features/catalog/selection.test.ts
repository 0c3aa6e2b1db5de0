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
  it('are in the address as they were picked', () => {
    expect(parseSelection({ ...selectionForOffer(metal) })).toEqual(selectionForOffer(metal));
    expect(parseSelection({ ...selectionFromSpec({ ...spec, days: 30 }) })).toEqual({
      ...selectionForOffer(free),
      days: 30,
    });
    expect(parseSelection({ gpu: ['h100'], type: 'vm', count: -1, network: 'wifi', days: 'soon' })).toEqual(
      {},
    );
  });

  it('are filled in by the cheapest that is free, not by the cheapest of all', () => {
    expect(resolveSpec({ type: 'virtual-machine' }, all)).toEqual(spec);
    expect(resolveSpec({}, [cheap])?.region).toBe('us-east-1');
    expect(resolveSpec({}, [])).toBeNull();
  });

  it('stay as they were picked, also where nothing like it is listed', () => {
    const odd = { gpu: 'b200', type: 'virtual-machine', count: 64, region: 'jp-east-1' } as const;
    expect(resolveSpec(odd, all)).toMatchObject(odd);
    expect(resolveSpec({ ...selectionForOffer(cheap), days: 7 }, all)).toMatchObject({
      region: 'us-east-1',
      days: 7,
    });
  });

  it('of a size between two are looked for where there are larger ones', () => {
    const large = makeOffer({ region: 'eu-west-1', gpuCount: 4, pricePerHourNanoUsd: '20000000000' });
    expect(resolveSpec({ count: 3, type: 'virtual-machine' }, [...all, large])).toMatchObject({
      count: 3,
      region: 'eu-west-1',
    });
  });

  it('once whole lead to themselves, so that the address comes to rest', () => {
    for (const picks of [{}, { gpu: 'h100' }, { type: 'bare-metal' as const }, { count: 2 }]) {
      const first = resolveSpec(picks, all);
      expect(first).not.toBeNull();
      if (first !== null) expect(resolveSpec(selectionFromSpec(first), all)).toEqual(first);
    }
  });
});

describe('where and how large', () => {
  it('lists every place that sells it, cheapest first, and says where such a machine is free', () => {
    expect(locationsFor(spec, all).map(({ region, hasRoom }) => ({ region, hasRoom }))).toEqual([
      { region: 'us-east-1', hasRoom: false },
      { region: 'us-central-1', hasRoom: true },
    ]);
    expect(locationsFor({ ...spec, count: 4 }, all).map(({ hasRoom }) => hasRoom)).toEqual([false, false]);
  });

  it('lists the sizes of the chosen place, smallest first', () => {
    expect(sizesFor(spec, all)).toEqual([free, freeTwo]);
    expect(sizesFor({ ...spec, network: 'infiniband' }, all)).toEqual([]);
  });

  it('takes whole GPUs, and whole nodes of bare metal', () => {
    expect(countIssue(spec)).toBeNull();
    expect(countIssue({ ...spec, count: 0 })).not.toBeNull();
    expect(countIssue({ ...spec, count: 1.5 })).not.toBeNull();
    expect(countIssue({ type: 'bare-metal', count: 12 })).toContain('8, 16, 24');
    expect(countIssue({ type: 'bare-metal', count: 16 })).toBeNull();
  });
});

describe('a wish as the service reads it', () => {
  it('names a term only where there is one', () => {
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
