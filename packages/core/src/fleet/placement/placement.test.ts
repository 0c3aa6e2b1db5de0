import { fromUuid, type FabricId, type GpuId } from '@millrace/platform/ids';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chooseGpus,
  choosePorts,
  portKey,
  rankFabrics,
  type FabricCandidate,
  type FreeGpu,
  type RequestedPort,
} from './placement.ts';

const uuid = (number: number): string => `019b0000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
const gpuId = (number: number): GpuId => fromUuid('gpu', uuid(number));
const fabricId = (number: number): FabricId => fromUuid('fab', uuid(number));

const address = (number: number): string => `0000:${number.toString(16).padStart(2, '0')}:00.0`;

/** GPUs whose address, NUMA node and list order are independent. */
const freeGpus: fc.Arbitrary<readonly FreeGpu[]> = fc
  .uniqueArray(
    fc.record({
      number: fc.integer({ min: 0, max: 255 }),
      numaNode: fc.option(fc.integer({ min: 0, max: 3 })),
    }),
    { selector: ({ number }) => number, maxLength: 16 },
  )
  .map((gpus) =>
    gpus.map(({ number, numaNode }) => ({ gpuId: gpuId(number), pciAddress: address(number), numaNode })),
  );
const gpuCount = fc.integer({ min: 1, max: 10 });

const numaSizes = (gpus: readonly FreeGpu[]): Map<number | null, number> =>
  new Map([...Map.groupBy(gpus, ({ numaNode }) => numaNode)].map(([numa, group]) => [numa, group.length]));

/** The chosen entries of the list of free GPUs. */
function pick(free: readonly FreeGpu[], chosen: readonly { gpuId: GpuId }[]): readonly FreeGpu[] {
  const ids = new Set(chosen.map((gpu) => gpu.gpuId));
  return free.filter((gpu) => ids.has(gpu.gpuId));
}

describe('chooseGpus', () => {
  it('returns exactly the requested number of distinct free GPUs, or null', () => {
    fc.assert(
      fc.property(freeGpus, gpuCount, (free, count) => {
        const chosen = chooseGpus(free, count);
        expect(chosen?.length).toBe(free.length < count ? undefined : count);
        const given = new Set(chosen?.map((gpu) => `${gpu.gpuId} ${gpu.pciAddress}`));
        expect(given.size).toBe(free.length < count ? 0 : count);
        const known = new Set(free.map((gpu) => `${gpu.gpuId} ${gpu.pciAddress}`));
        expect([...given].filter((gpu) => !known.has(gpu))).toEqual([]);
      }),
    );
  });

  it('stays on the NUMA node with the fewest sufficient GPUs', () => {
    fc.assert(
      fc.property(freeGpus, gpuCount, (free, count) => {
        const enough = [...numaSizes(free).values()].filter((size) => size >= count);
        fc.pre(enough.length > 0);
        const touched = new Set(pick(free, chooseGpus(free, count) ?? []).map(({ numaNode }) => numaNode));
        expect(touched.size).toBe(1);
        const [numa = null] = touched;
        expect(numaSizes(free).get(numa)).toBe(Math.min(...enough));
      }),
    );
  });

  it('uses as few NUMA nodes as possible', () => {
    fc.assert(
      fc.property(freeGpus, gpuCount, (free, count) => {
        fc.pre(free.length >= count);
        const sizes = [...numaSizes(free).values()].toSorted((one, other) => other - one);
        let fewest = 0;
        for (let held = 0; held < count; fewest += 1) held += sizes[fewest] ?? 0;
        const touched = new Set(pick(free, chooseGpus(free, count) ?? []).map(({ numaNode }) => numaNode));
        expect(touched.size).toBe(fewest);
      }),
    );
  });

  it('does not depend on the order of the free GPUs', () => {
    fc.assert(
      fc.property(
        freeGpus.chain((free) =>
          fc.tuple(fc.constant(free), fc.shuffledSubarray([...free], { minLength: free.length })),
        ),
        gpuCount,
        ([free, shuffled], count) => {
          expect(chooseGpus(shuffled, count)).toEqual(chooseGpus(free, count));
        },
      ),
    );
  });

  it('takes the lowest addresses of the lowest NUMA node among equal choices', () => {
    const free = [3, 1, 2, 0].map((number) => ({
      gpuId: gpuId(number),
      pciAddress: address(number),
      numaNode: number < 2 ? 0 : 1,
    }));
    expect(chooseGpus(free, 1)).toEqual([{ gpuId: gpuId(0), pciAddress: address(0) }]);
    expect(chooseGpus(free, 3)?.map((gpu) => gpu.pciAddress)).toEqual([0, 1, 2].map(address));
  });

  it('treats GPUs with an unknown NUMA node as one NUMA node', () => {
    const free = [0, 1, 2].map((number) => ({
      gpuId: gpuId(number),
      pciAddress: address(number),
      numaNode: number === 0 ? 0 : null,
    }));
    expect(chooseGpus(free, 2)?.map((gpu) => gpu.pciAddress)).toEqual([1, 2].map(address));
  });

  it.each([0, -1])('returns null for a count of %i', (count) => {
    expect(chooseGpus([{ gpuId: gpuId(1), pciAddress: address(1), numaNode: 0 }], count)).toBeNull();
  });
});

const fabric = (number: number, idleNodes: number, turn: number): FabricCandidate => ({
  fabricId: fabricId(number),
  idleNodes,
  turn,
});

describe('rankFabrics', () => {
  const fabrics = fc
    .uniqueArray(
      fc.tuple(
        fc.integer({ min: 0, max: 99 }),
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 0, max: 3 }),
      ),
      { selector: ([number]) => number, maxLength: 12 },
    )
    .map((rows) => rows.map(([number, idle, turn]) => fabric(number, idle, turn)));

  it('returns fabrics with enough idle nodes, smallest first, independent of the input order', () => {
    fc.assert(
      fc.property(fabrics, fc.integer({ min: 1, max: 8 }), (known, count) => {
        const ranked = rankFabrics(known, count);
        expect(rankFabrics(known.toReversed(), count)).toEqual(ranked);
        expect(ranked).toHaveLength(known.filter(({ idleNodes }) => idleNodes >= count).length);
        const keys = ranked.map(({ idleNodes, turn, fabricId: id }) => `${idleNodes} ${turn} ${id}`);
        expect(keys).toEqual(keys.toSorted());
      }),
    );
  });

  it.each([
    ['the fabric with fewer idle nodes', fabric(2, 4, 9), fabric(1, 5, 0)],
    ['the lower turn', fabric(2, 4, 1), fabric(1, 4, 2)],
    ['the lower id', fabric(1, 4, 1), fabric(2, 4, 1)],
  ])('prefers %s', (_what, better, worse) => {
    expect(rankFabrics([worse, better], 4)).toEqual([better, worse]);
    expect(rankFabrics([better, worse], 4)).toEqual([better, worse]);
  });
});

describe('choosePorts', () => {
  const protocol = fc.constantFrom<RequestedPort['protocol']>('tcp', 'udp');
  const wanted = fc.array(fc.record({ internalPort: fc.integer({ min: 1, max: 65_535 }), protocol }), {
    maxLength: 6,
  });
  const range = { first: 100, last: 106 };
  const taken = fc
    .uniqueArray(fc.tuple(protocol, fc.integer({ min: 98, max: 108 })), {
      selector: ([p, n]) => portKey(p, n),
    })
    .map((ports) => new Set(ports.map(([name, port]) => portKey(name, port))));
  const freeOf = (name: RequestedPort['protocol'], used: ReadonlySet<string>): number[] =>
    [100, 101, 102, 103, 104, 105, 106].filter((port) => !used.has(portKey(name, port)));

  const start = fc.nat();

  it('assigns each port the next free one of its protocol from the start, wrapping around, or returns null', () => {
    fc.assert(
      fc.property(wanted, taken, start, (ports, used, from) => {
        const around = (free: readonly number[]): number[] =>
          free.toSorted((a, b) => ((a - 100 + 7 - (from % 7)) % 7) - ((b - 100 + 7 - (from % 7)) % 7));
        const left = { tcp: around(freeOf('tcp', used)), udp: around(freeOf('udp', used)) };
        const expected = ports.map((port) => ({ ...port, externalPort: left[port.protocol].shift() }));
        const fits = expected.every(({ externalPort }) => externalPort !== undefined);
        expect(choosePorts(ports, used, range, from)).toEqual(fits ? expected : null);
      }),
    );
  });

  it('uses every port of the range and none outside it', () => {
    const one = [{ internalPort: 22, protocol: 'tcp' as const }];
    for (const from of [0, 1, 2]) {
      expect(choosePorts(one, new Set(['tcp:7']), { first: 7, last: 8 }, from)).toEqual([
        { internalPort: 22, protocol: 'tcp', externalPort: 8 },
      ]);
      expect(choosePorts(one, new Set(['tcp:7', 'tcp:8']), { first: 7, last: 8 }, from)).toBeNull();
    }
    expect(choosePorts([], new Set(['tcp:7']), { first: 7, last: 7 }, 0)).toEqual([]);
  });

  it('can assign the same number for TCP and UDP', () => {
    const both = [
      { internalPort: 53, protocol: 'tcp' as const },
      { internalPort: 53, protocol: 'udp' as const },
    ];
    expect(choosePorts(both, new Set(), { first: 7, last: 7 }, 5)?.map((port) => port.externalPort)).toEqual([
      7, 7,
    ]);
  });
});
