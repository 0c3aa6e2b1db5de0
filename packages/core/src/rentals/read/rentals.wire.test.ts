import {
  createContract,
  defaultProviders,
  providerVariantNames,
  type ProviderVariant,
} from '@millrace/contract';
import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import type { FrozenPrice } from '../../prices/index.ts';
import type { RentalRecord } from './rental-record.ts';
import type { Rental, RentalMachine, RentalTerm } from '../model/rental.ts';
import { toWireBareMetal, toWireRental, toWireRentalRecord } from './rentals.wire.ts';
import { at, machineWith, rentalWith, running } from '../view.fixture.ts';

const { operations } = createContract({ providers: defaultProviders });
const closed = operations.createVirtualMachineRental.response.schema;
const detail = operations.getRental.response.schema;
const idOf = (variant: ProviderVariant): string =>
  defaultProviders.find((provider) => provider.variant === variant)?.id ?? '';

const price: FrozenPrice = {
  version: 1,
  product: 'rental',
  rateNanoUsdPerHour: '6368000002',
  originalNanoUsdPerHour: '7960000002',
  discountPpm: 200_000,
  quantity: 2,
  unitNanoUsdPerHour: '3980000001',
  reserve: null,
  priceIds: [],
  frozenAt: at(0).toISOString(),
};
const onDemand: RentalTerm = {
  seq: 1,
  termType: 'on-demand',
  price,
  holdId: null,
  meterName: 'gpu',
  effectiveAt: null,
  endsAt: null,
};

function recordOf(
  variant: ProviderVariant,
  fields: {
    readonly rental?: Rental;
    readonly machines?: readonly RentalMachine[];
    readonly terms?: readonly RentalTerm[];
    readonly attached?: RentalRecord['attached'];
    readonly livePrices?: RentalRecord['livePrices'];
  } = {},
): RentalRecord {
  const { rental = rentalWith(), machines = [machineWith()], terms = [onDemand], attached = [] } = fields;
  return {
    rental: { ...rental, providerId: idOf(variant) },
    variant,
    createdBy: { id: rental.userId, name: 'Ada', email: 'ada@example.com', picture: null },
    machines: machines.map((machine) => ({ ...machine, cpuModel: 'EPYC', gpuFormFactor: 'sxm5' })),
    terms,
    steps: [
      { seq: 1, attempt: 1, name: 'place', status: 'done', startedAt: at(0), endedAt: at(0), message: null },
    ],
    attached,
    cost: nanoUsd(17n),
    livePrices: fields.livePrices ?? null,
  };
}

const open = machineWith({
  state: 'open',
  address: '192.0.2.7',
  privateIp: '10.0.0.5',
  sshUser: 'ubuntu',
  hostKey: 'SHA256:abc',
  ports: [
    { internalPort: 22, externalPort: 20_000, protocol: 'tcp' },
    { internalPort: 8080, externalPort: 20_001, protocol: 'tcp' },
  ],
});

/** A rental at each stage. */
const stages: Readonly<Record<string, Parameters<typeof recordOf>[1]>> = {
  pending: {},
  'without machines': { machines: [] },
  running: { rental: running({ customPorts: [8080], monitoring: true }), machines: [open] },
  'bare metal of two nodes': {
    rental: running({ kind: 'bare-metal', nodeCount: 2, gpuCount: 4 }),
    machines: [open, { ...open, position: 2, address: '192.0.2.8' }],
    attached: [
      {
        wireId: 7,
        ratePerHour: nanoUsd(512_000_000n),
        sizeGb: 4_096,
        label: 'datasets',
        vip: '10.8.0.10',
        attachedRentalIds: [1042, 1043],
      },
    ],
  },
  ended: {
    rental: running({ status: 'Terminated', endedAt: at(9), endAcceptedAt: at(5), endReason: 'done' }),
    machines: [{ ...open, state: 'gone' }],
  },
};

describe.each([...providerVariantNames])('rental of the variant %s', (variant) => {
  it.each(Object.keys(stages))('%s: both records match the contract exactly', (stage) => {
    const record = recordOf(variant, stages[stage]);
    const created = toWireRentalRecord(record);
    const shown = toWireRental(record, at(10));
    // The contract rejects or removes unknown fields while parsing.
    expect(closed.parse(created)).toEqual(created);
    expect(detail.parse(shown)).toEqual(shown);
  });
});

describe.each([...providerVariantNames])('bare metal of the variant %s', (variant) => {
  it('matches the contract exactly, with equal content in both storage fields', () => {
    const record = recordOf(variant, stages['bare metal of two nodes']);
    const listed = toWireBareMetal(record, at(10));
    expect(operations.listBareMetalRentals.response.schema.parse([listed])).toEqual([listed]);
    expect(listed.attachedStorage).toEqual([
      {
        id: 7,
        cost_per_hour: 0.512,
        size_in_gb: 4_096,
        label: 'datasets',
        vip: '10.8.0.10',
        attached_instance_ids: [1042, 1043],
      },
    ]);
    expect(listed.meta?.attached_storage).toEqual(listed.attachedStorage);
    expect(toWireRental(record, at(10)).attachedStorage).toEqual(listed.attachedStorage);
  });
});

it('providerData counts CPUs as its variant specifies', () => {
  const countOf = (variant: ProviderVariant, kind: Rental['kind']): string[] => {
    const { resources } = toWireRentalRecord(recordOf(variant, { rental: running({ kind }) })).providerData;
    return Object.keys(resources).filter((key) => key.toLowerCase().includes('cpucount'));
  };
  for (const variant of providerVariantNames) {
    const virtual = variant === 'V3' ? 'cpuCount' : 'vcpuCount';
    const either = variant === 'V2' || variant === 'V8' || variant === 'private-cloud';
    expect(countOf(variant, 'virtual-machine')).toEqual([virtual]);
    expect(countOf(variant, 'bare-metal')).toEqual([either ? 'cpuCount' : virtual]);
  }
});

describe('releasedCostPerHourNanoUsd', () => {
  const diskPrice: FrozenPrice = { ...price, rateNanoUsdPerHour: '12000000' };
  const reserved: RentalTerm = { ...onDemand, termType: 'reserved', effectiveAt: at(0), endsAt: at(1_000) };
  const releasedCost = (rental: Rental, terms: readonly RentalTerm[] = [onDemand]) =>
    toWireRental(recordOf('V2', { rental, terms }), at(10)).releasedCostPerHourNanoUsd;

  it('is the exact disk price', () => {
    expect(releasedCost(running({ diskPrice }))).toBe('12000000');
    expect(releasedCost(running({ diskPrice: null }))).toBe('0');
  });

  it('is null if a release is rejected: bare metal and reserved terms', () => {
    expect(releasedCost(running({ kind: 'bare-metal', diskPrice: null }))).toBeNull();
    expect(releasedCost(running({ diskPrice }), [reserved])).toBeNull();
    expect(releasedCost(running({ diskPrice, gpuHeld: false }), [reserved])).toBe('12000000');
  });
});

describe('liveCostPerHourNanoUsd', () => {
  const livePrices = {
    machine: (_item: object, { quantity }: { readonly quantity: number }) =>
      nanoUsd(BigInt(quantity) * 2_000_000_000n),
    storage: () => null,
  };
  const liveCost = (fields: Parameters<typeof recordOf>[1]) =>
    toWireRental(recordOf('mock', { rental: running(), ...fields }), at(10)).liveCostPerHourNanoUsd;

  it('is the price of the same machine in live mode', () => {
    expect(liveCost({ livePrices })).toBe(String(BigInt(price.quantity) * 2_000_000_000n));
  });

  it('is absent in live mode, without a live price and under a contract', () => {
    expect(liveCost({ livePrices: null })).toBeUndefined();
    expect(liveCost({ livePrices: { ...livePrices, machine: () => null } })).toBeUndefined();
    expect(liveCost({ livePrices, terms: [{ ...onDemand, termType: 'private-cloud' }] })).toBeUndefined();
  });
});

describe('liveReleasedCostPerHourNanoUsd', () => {
  const diskPrice: FrozenPrice = { ...price, quantity: 500, rateNanoUsdPerHour: '0' };
  const livePrices = {
    machine: () => null,
    storage: (_item: object, sizeGb: number) => nanoUsd(BigInt(sizeGb) * 10n),
  };
  const liveDisk = (rental: Rental, fields: Parameters<typeof recordOf>[1] = { livePrices }) =>
    toWireRental(recordOf('mock', { rental, ...fields }), at(10)).liveReleasedCostPerHourNanoUsd;

  it('is the price of a disk of the same size in live mode', () => {
    expect(liveDisk(running({ diskPrice }))).toBe('5000');
    expect(liveDisk(running({ diskPrice, gpuHeld: false }))).toBe('5000');
  });

  it('is absent in live mode, without a disk price and if the GPUs cannot be released', () => {
    expect(liveDisk(running({ diskPrice }), {})).toBeUndefined();
    expect(liveDisk(running({ diskPrice: null }))).toBeUndefined();
    expect(liveDisk(running({ kind: 'bare-metal', diskPrice }))).toBeUndefined();
  });
});

it('toWireRental shows since when billing is paused', () => {
  const paused = recordOf('V2', { rental: running({ status: 'Unknown', billingPausedAt: at(5) }) });
  expect(toWireRental(paused, at(10)).billingPausedAt).toBe(at(5).toISOString());
  expect(toWireRental(recordOf('V2', { rental: running() }), at(10)).billingPausedAt).toBeNull();
});

describe('SSH and port access', () => {
  it('is shown only while the tenant has access', () => {
    for (const state of ['wanted', 'made', 'proven', 'doomed', 'gone'] as const) {
      const shown = toWireRental(recordOf('V2', { machines: [{ ...open, state }] }), at(10));
      expect(shown).toMatchObject({ ssh: [], ports: [] });
      expect(shown.providerData).not.toHaveProperty('sshNetworking');
      expect(shown.providerData).not.toHaveProperty('portForwards');
      expect(JSON.stringify(shown)).not.toContain('192.0.2.7');
    }
    const shown = toWireRental(recordOf('V2', { rental: running(), machines: [open] }), at(10));
    expect(shown.ssh).toEqual([
      {
        host: '192.0.2.7',
        port: 20_000,
        user: 'ubuntu',
        command: 'ssh -p 20000 ubuntu@192.0.2.7',
        hostKeyFingerprint: 'SHA256:abc',
      },
    ]);
    expect(shown.ports).toEqual([{ host: '192.0.2.7', externalPort: 20_001, internalPort: 8080 }]);
    expect(shown.providerData).toMatchObject({
      sshNetworking: [{ host: '192.0.2.7', port: 20_000, user: 'ubuntu' }],
      nodeNetworking: [{ publicIp: '192.0.2.7', privateIp: '10.0.0.5' }],
    });
  });
});

describe('currentTerm', () => {
  const reserve = {
    optionId: testIds.next('rso'),
    termPeriodDays: 30,
    committedNanoUsd: '1',
    refundPpm: 500_000,
    onDemandNanoUsdPerHour: '7960000002',
  };
  const first: RentalTerm = {
    ...onDemand,
    termType: 'reserved',
    price: { ...price, reserve },
    effectiveAt: at(0),
    endsAt: at(1_000),
  };
  const waiting: RentalTerm = { ...first, seq: 2, effectiveAt: null, endsAt: null };
  const extension: RentalTerm = { ...waiting, effectiveAt: at(1_000), endsAt: at(2_000) };
  const after: RentalTerm = { ...onDemand, seq: 3, effectiveAt: at(2_000) };
  const termOf = (...terms: RentalTerm[]) =>
    toWireRental(recordOf('V1', { rental: running(), terms }), at(5_000)).currentTerm;
  const thirtyDaysMs = 30 * 86_400_000;

  it('is the last started term: the first, its extension, then on demand', () => {
    expect(termOf(first, waiting)).toMatchObject({
      termType: 'reserved',
      reservedUntil: at(1_000).toISOString(),
      reservationEndsAt: at(1_000 + thirtyDaysMs).toISOString(),
      termPeriodDays: 30,
      discountPercentage: 20,
      costPerHour: 6.368000002,
      originalCostPerHour: 7.960000002,
    });
    expect(termOf(first, extension)).toMatchObject({ reservedUntil: at(2_000).toISOString() });
    expect(termOf(first, extension, after)).toMatchObject({
      termType: 'on-demand',
      reservedUntil: null,
      discountPercentage: null,
    });
  });

  it('is the first term with the creation time before the readiness check has passed', () => {
    const pending = recordOf('V1', { terms: [{ ...first, effectiveAt: null, endsAt: null }] });
    expect(toWireRental(pending, at(5)).currentTerm).toMatchObject({
      effectiveAt: at(0).toISOString(),
      reservedUntil: null,
      reservationEndsAt: null,
    });
  });
});
