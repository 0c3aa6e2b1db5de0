import type { InventoryGpu } from '@millrace/compute';
import { canTransition, machineStateNames, machineStates } from '@millrace/contract';
import { SimulatedClock } from '@millrace/platform/clock';
import { createIdSource } from '@millrace/platform/ids';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gpu, node, unreachable } from './inventory.fixture.ts';
import {
  compareGpus,
  isChangedBy,
  planNewNode,
  planNode,
  soldAs,
  type StoredGpu,
  type StoredHardware,
  type NodePlan,
} from './inventory-plan.ts';
import { checkInventory, type ReportedNode } from './inventory.ts';
import { decideTransition, type ReturnStatus, type OfferKind } from './nodes.ts';

const ids = createIdSource({ clock: new SimulatedClock(), cell: 1 });
const start = Date.UTC(2026, 0, 1);
const at = (second: number): Date => new Date(start + second * 1_000);
const defaults = { connectionType: 'ethernet', fabric: null, cudaVersion: null } as const;

function seen(reported: Parameters<typeof checkInventory>[0]['nodes'][number]): ReportedNode {
  const checked = checkInventory({ engine: 'x', nodes: [reported] }, defaults);
  const found = checked.ok ? checked.nodes[0] : undefined;
  if (found === undefined) throw new Error('The node was rejected.');
  return found;
}

const anyGpu = fc.record({
  index: fc.integer({ min: 0, max: 7 }),
  uuid: fc.constantFrom(null, 'GPU-1', 'GPU-2', 'GPU-3'),
  model: fc.constantFrom('NVIDIA H100 80GB HBM3', 'NVIDIA H200', 'Tesla T4'),
});

/** Any report of one node: not listed, unreachable, implausible, or with GPUs. */
const anyReport = fc.oneof(
  fc.constant(undefined),
  fc.constant(seen(unreachable('n'))),
  fc.constant(seen(node('n', [gpu(0), gpu(0)]))),
  fc
    .uniqueArray(anyGpu, { selector: ({ index }) => index, maxLength: 8 })
    .filter((gpus) => {
      const uuids = gpus.flatMap(({ uuid }) => uuid ?? []);
      return new Set(uuids).size === uuids.length;
    })
    .map((gpus) =>
      seen(
        node(
          'n',
          gpus.map(({ index, uuid, model }) => gpu(index, { uuid, model })),
        ),
      ),
    ),
);

const anyKnown: fc.Arbitrary<StoredHardware> = fc
  .record({
    status: fc.constantFrom(...machineStateNames),
    backTo: fc.constantFrom<ReturnStatus>('node_registering', 'node_ready', 'node_draining'),
    digest: fc.constantFrom(null, 'old'),
    unreachableSecond: fc.option(fc.integer({ min: -100, max: 0 }), { nil: null }),
    gpus: fc.uniqueArray(
      fc.record({
        index: fc.integer({ min: 0, max: 7 }),
        uuid: fc.constantFrom(null, 'GPU-1', 'GPU-2'),
        state: fc.constantFrom<StoredGpu['state']>('present', 'missing', 'faulty'),
        sold: fc.boolean(),
      }),
      { selector: ({ index }) => index, maxLength: 8 },
    ),
  })
  .map(({ status, backTo, digest, unreachableSecond, gpus }) => ({
    id: ids.next('nod'),
    name: 'n',
    status,
    statusReason: null,
    backTo: status === 'node_offline' ? backTo : null,
    drainDeadlineAt: null,
    hardwareDigest: digest,
    unreachableSince: unreachableSecond === null ? null : at(unreachableSecond),
    gpus: gpus.map(({ index, uuid, state, sold }) => known(index, { deviceUuid: uuid, state, sold })),
  }));

function known(index: number, fields: Partial<StoredGpu> = {}): StoredGpu {
  return {
    id: ids.next('gpu'),
    pciAddress: gpu(index).pciAddress,
    deviceUuid: null,
    model: 'NVIDIA H100 80GB HBM3',
    gpuType: 'h100',
    ramMb: 81_559,
    numaNode: gpu(index).numaNode,
    state: 'present',
    sold: false,
    ...fields,
  };
}

/** Applies a plan as the store does. */
function applied(node_: StoredHardware, plan: NodePlan): StoredHardware {
  const changes = new Map(plan.gpuChanges.map((change) => [change.id, change]));
  const retained = node_.gpus
    .map((old) => ({ ...old, ...changes.get(old.id) }))
    .filter(({ state }) => state !== 'replaced');
  const added = plan.newGpus.map((one) => ({
    ...one,
    id: ids.next('gpu'),
    state: 'present' as const,
    sold: false,
  }));
  const noted = plan.note === undefined ? node_.statusReason : plan.note;
  return {
    ...node_,
    status: plan.move?.to ?? node_.status,
    statusReason: plan.move === null ? noted : plan.move.statusReason,
    backTo: plan.move === null ? node_.backTo : plan.move.backTo,
    hardwareDigest: plan.hardware?.digest ?? node_.hardwareDigest,
    unreachableSince: plan.unreachableSince === undefined ? node_.unreachableSince : plan.unreachableSince,
    gpus: [...retained, ...added],
  };
}

describe('planNode', () => {
  const times = { now: at(0), watchingSince: at(-50), offer: 'virtual-machine' } as const;

  it('plans only transitions that the state table allows', () => {
    fc.assert(
      fc.property(anyKnown, anyReport, (node_, report) => {
        const { move } = planNode(node_, report, times);
        if (move === null) return;
        expect(canTransition(machineStates, move.from, move.to)).toBe(true);
        expect(move.from).toBe(node_.status);
        expect(move.backTo === null).toBe(move.to !== 'node_offline');
      }),
    );
  });

  it('plans nothing for a node that isChangedBy skips', () => {
    fc.assert(
      fc.property(anyKnown, anyReport, (node_, report) => {
        if (isChangedBy(node_, report, times)) return;
        const plan = planNode(node_, report, times);
        expect(plan).toMatchObject({
          move: null,
          hardware: null,
          gpuChanges: [],
          newGpus: [],
          isDelisted: false,
        });
        expect(plan.unreachableSince).toBeUndefined();
      }),
    );
  });

  it('plans no further changes when the same report is repeated', () => {
    fc.assert(
      fc.property(anyKnown, anyReport, (first, report) => {
        let current = first;
        for (let round = 0; round < 3; round += 1) {
          current = applied(current, planNode(current, report, { ...times, now: at(round) }));
        }
        if (current.status === 'node_removed') return;
        const next = { ...times, now: at(3) };
        // A device that waits for the release of an allocated GPU is compared at each poll and not written.
        const waits = current.hardwareDigest?.startsWith('unsettled:') === true;
        expect(isChangedBy(current, report, next)).toBe(waits);
        expect(applied(current, planNode(current, report, next))).toEqual(current);
      }),
    );
  });

  it('keeps exactly the reported GPUs present, except faulty ones and those at the address of an allocated GPU', () => {
    fc.assert(
      fc.property(anyKnown, anyReport, (node_, report) => {
        if (report?.hardware === undefined || report.hardware === null || node_.status === 'node_removed')
          return;
        const after = applied(node_, planNode(node_, report, times)).gpus;
        const out = new Set(
          after
            .filter(({ state, sold }) => state === 'faulty' || (state === 'missing' && sold))
            .map(({ pciAddress }) => pciAddress),
        );
        const present = after.filter(({ state }) => state === 'present').map(({ pciAddress }) => pciAddress);
        const reported = report.hardware.gpus.map(({ pciAddress }) => pciAddress);
        expect(present.toSorted()).toEqual(reported.filter((address) => !out.has(address)).toSorted());
        expect(new Set(after.map(({ pciAddress }) => pciAddress)).size).toBe(after.length);
      }),
    );
  });

  it('quarantines a node that has lost an allocated GPU', () => {
    fc.assert(
      fc.property(anyKnown, anyReport, (node_, report) => {
        if (report?.hardware === undefined || report.hardware === null || node_.status === 'node_removed')
          return;
        const { lost } = compareGpus(node_.gpus, report.hardware.gpus);
        if (lost.length === 0) return;
        expect(applied(node_, planNode(node_, report, times)).status).toBe('node_quarantined');
      }),
    );
  });
});

describe('compareGpus', () => {
  const of = (one: InventoryGpu) => seen(node('n', [one])).hardware?.gpus ?? [];

  it('treats a GPU whose UUID becomes known as the same device', () => {
    const { changes, added } = compareGpus([known(0)], of(gpu(0, { uuid: 'GPU-1' })));
    expect(added).toEqual([]);
    expect(changes).toMatchObject([{ state: 'present', deviceUuid: 'GPU-1' }]);
  });

  it('keeps the UUID of a GPU that is reported without one', () => {
    expect(compareGpus([known(0, { deviceUuid: 'GPU-1' })], of(gpu(0))).changes).toEqual([]);
  });

  it('treats another model at the same address as a replacement', () => {
    const { changes, added } = compareGpus([known(0)], of(gpu(0, { model: 'NVIDIA H200' })));
    expect(changes).toMatchObject([{ state: 'replaced' }]);
    expect(added).toMatchObject([{ gpuType: 'h200' }]);
  });

  it('keeps the address of an allocated GPU and does not add the device found there', () => {
    const rented = known(0, { deviceUuid: 'GPU-1', sold: true });
    const { changes, added, lost, isSettled } = compareGpus([rented], of(gpu(0, { uuid: 'GPU-2' })));
    expect({ changes, added, isSettled }).toMatchObject({
      changes: [{ id: rented.id, state: 'missing', deviceUuid: 'GPU-1' }],
      added: [],
      isSettled: false,
    });
    expect(lost).toEqual([rented]);
  });

  it('keeps a faulty GPU faulty, whether it is reported or not', () => {
    const faulty = known(0, { state: 'faulty' });
    expect(compareGpus([faulty], of(gpu(0))).changes).toEqual([]);
    expect(compareGpus([faulty], []).changes).toEqual([]);
  });
});

describe('planNewNode', () => {
  it('plans only transitions that the state table allows', () => {
    fc.assert(
      fc.property(anyReport, (report) => {
        if (report === undefined) return;
        const { steps, status } = planNewNode(report, { now: at(0), offer: 'virtual-machine' });
        let from: (typeof steps)[number]['to'] | null = null;
        for (const { to } of steps) {
          expect(canTransition(machineStates, from, to)).toBe(true);
          from = to;
        }
        expect(from).toBe(status);
      }),
    );
  });
});

describe('soldAs', () => {
  const unknown = { model: 'NVIDIA GeForce RTX 4090' } as const;
  const saleTo = (gpus: Parameters<typeof node>[1], offer: OfferKind) =>
    soldAs(seen(node('n', gpus)).hardware?.gpus ?? expect.fail('The report was rejected.'), offer).gpuType;

  it.each([
    { what: 'GPUs that rentals offer', gpus: [gpu(0), gpu(1)], rented: 'h100', marketed: 'h100' },
    {
      what: 'GPUs of one other model',
      gpus: [gpu(0, unknown), gpu(1, unknown)],
      rented: null,
      marketed: 'other',
    },
    {
      what: 'GPUs of two other models',
      gpus: [gpu(0, unknown), gpu(1, { ...unknown, model: 'NVIDIA L40S' })],
      rented: null,
      marketed: null,
    },
    { what: 'a mixture of both', gpus: [gpu(0), gpu(1, unknown)], rented: null, marketed: null },
    { what: 'no GPUs', gpus: [], rented: null, marketed: null },
  ])(
    'returns $rented for rentals and $marketed for the marketplace, given $what',
    ({ gpus, rented, marketed }) => {
      expect(saleTo(gpus, 'virtual-machine')).toBe(rented);
      expect(saleTo(gpus, 'bare-metal')).toBe(rented);
      expect(saleTo(gpus, 'marketplace')).toBe(marketed);
    },
  );
});

describe('decideTransition', () => {
  it('follows the state table, changes the return status of an offline node, or refuses', () => {
    const anyState = fc.constantFrom(...machineStateNames);
    const anyBack = fc.constantFrom<ReturnStatus>('node_registering', 'node_ready', 'node_draining');
    fc.assert(
      fc.property(
        anyState,
        anyState,
        anyBack,
        fc.boolean(),
        fc.boolean(),
        (status, to, back, read, reachable) => {
          const backTo = status === 'node_offline' ? back : null;
          const decision = decideTransition({ status, backTo, hardwareRead: read, reachable }, to);
          if (decision.kind === 'move') {
            expect(canTransition(machineStates, status, decision.to)).toBe(true);
            expect(decision.backTo !== null).toBe(decision.to === 'node_offline');
            if (decision.to === 'node_ready') expect(read).toBe(true);
            if (decision.to === 'node_ready' && status === 'node_quarantined') expect(reachable).toBe(true);
          }
          if (decision.kind === 'later') expect(status).toBe('node_offline');
          if (status === 'node_removed') expect(['stay', 'refused']).toContain(decision.kind);
        },
      ),
    );
  });
});
