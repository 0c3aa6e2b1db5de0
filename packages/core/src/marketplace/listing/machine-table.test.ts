import { gunzipSync } from 'node:zlib';
import { marketplaceFilterFields, type MarketplaceFilterField } from '@millrace/contract';
import type { NodeId } from '@millrace/platform/ids';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeList } from './list-response.ts';
import type { ListingQuery } from './filters.ts';
import { anyFacts, machine, nodeId, type AnyFacts } from './listing.fixture.ts';
import type { MachineRecord } from './machine-record.ts';
import { naiveList, valuesOf } from './naive.fixture.ts';
import { MachineTable, type Selection } from './machine-table.ts';

const fields = Object.keys(marketplaceFilterFields) as MarketplaceFilterField[];

/** A change of machine `number`; null removes it from the listing. */
const anyChange = fc.record({
  number: fc.integer({ min: 0, max: 60 }),
  facts: fc.option(anyFacts, { nil: null, freq: 4 }),
});
type Change = typeof anyChange extends fc.Arbitrary<infer Each> ? Each : never;
const anyHistory = fc.array(fc.array(anyChange, { maxLength: 30 }), { maxLength: 5 });

class Harness {
  readonly table = new MachineTable();
  readonly machines = new Map<NodeId, MachineRecord>();
  readonly #modes = new Map<number, boolean>();

  play(changes: readonly Change[]): void {
    const records = changes.map(({ number, facts }) => {
      const id = nodeId(number);
      const listed = facts === null ? null : machine(id, this.#ofOneMode(number, facts));
      if (listed === null) this.machines.delete(id);
      else this.machines.set(id, listed.record);
      return [id, listed] as const;
    });
    this.table.apply(records);
  }

  /** A machine never changes its mode. */
  #ofOneMode(number: number, facts: AnyFacts): AnyFacts {
    const isTest = this.#modes.get(number) ?? facts.isTest;
    this.#modes.set(number, isTest);
    return { ...facts, isTest };
  }
}

/** A value of some machine, or a similar one. */
function anyValueOf(name: MarketplaceFilterField): fc.Arbitrary<string | number | boolean> {
  const known = fc.tuple(anyFacts, fc.nat()).map(([facts, pick]) => {
    const values = valuesOf(machine(nodeId(1), { ...facts, total: 2, instance: 'rnt_a' }).record, name);
    return values[pick % Math.max(1, values.length)];
  });
  const other = {
    string: fc.constantFrom('', 'H100', 'h100 80gb', 'mock-region', 'zz'),
    number: fc.constantFrom(0, -0, 1, 2, 0.3, 1e12),
    boolean: fc.boolean(),
  }[marketplaceFilterFields[name]] as fc.Arbitrary<string | number | boolean>;
  return fc.oneof(known, other).chain((value) => (value === undefined ? other : fc.constant(value)));
}

const anyFilter = fc.constantFrom(...fields).chain((name) => {
  const value = anyValueOf(name);
  const list = fc.array(value, { maxLength: 3 });
  const conditions = fc.record(
    { eq: value, neq: value, gt: value, gte: value, lt: value, lte: value, in: list, notin: list },
    { requiredKeys: [] },
  );
  return fc.tuple(fc.constant(name as string), fc.oneof(value, conditions));
});

const anyQuery: fc.Arbitrary<ListingQuery> = fc.record({
  filters: fc
    .array(fc.oneof(anyFilter, fc.constant(['nonsense', 1] as [string, number])), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries)),
  sort: fc.array(fc.record({ field: fc.constantFrom(...fields), dir: fc.constantFrom('asc', 'desc') }), {
    maxLength: 4,
  }),
});

function read({ runs }: Selection): MachineRecord[] {
  const text = Buffer.concat(runs.map(({ bytes, from, until }) => bytes.subarray(from, until))).toString();
  return JSON.parse(`[${text.slice(1)}]`) as MachineRecord[];
}

function wholeList(table: MachineTable): { instances: MachineRecord[] } {
  const packing = table.live.pack();
  let packed = packing.next();
  while (packed.done !== true) packed = packing.next();
  const { packed: gzip, packedLength, length } = encodeList(packed.value, table.live.all());
  const bytes = Buffer.concat(gzip);
  const text = gunzipSync(bytes);
  expect(bytes.length).toBe(packedLength);
  expect(text.length).toBe(length);
  return JSON.parse(text.toString()) as { instances: MachineRecord[] };
}

describe('MachineTable', () => {
  it('filters and sorts like the simple implementation after any history', () => {
    fc.assert(
      fc.property(anyHistory, fc.array(anyQuery, { minLength: 1, maxLength: 8 }), (history, queries) => {
        const harness = new Harness();
        for (const changes of history) {
          harness.play(changes);
          for (const query of queries) {
            expect(read(harness.table.select(query))).toEqual(
              naiveList([...harness.machines.values()], query),
            );
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  it('returns the same machines in pages as at once', () => {
    fc.assert(
      fc.property(anyHistory, anyQuery, fc.integer({ min: 1, max: 7 }), (history, query, limit) => {
        const harness = new Harness();
        for (const changes of history) harness.play(changes);
        const shown: MachineRecord[] = [];
        for (let cursor: string | null = null; ;) {
          const page: Selection = harness.table.select({ ...query, limit, cursor });
          shown.push(...read(page));
          if (page.nextCursor == null) break;
          cursor = page.nextCursor;
        }
        expect(shown).toEqual(read(harness.table.select(query)));
      }),
    );
  });

  it('returns each unchanged machine once when others change between pages', () => {
    fc.assert(
      fc.property(
        anyHistory,
        anyHistory,
        anyQuery,
        fc.integer({ min: 1, max: 5 }),
        (before, meanwhile, query, limit) => {
          const harness = new Harness();
          for (const changes of before) harness.play(changes);
          const touched = new Set(meanwhile.flat().map(({ number }) => nodeId(number) as string));
          const expected = read(harness.table.select(query)).filter(({ id }) => !touched.has(id));
          const shown: MachineRecord[] = [];
          const later = [...meanwhile];
          for (let cursor: string | null = null; ;) {
            const page: Selection = harness.table.select({ ...query, limit, cursor });
            shown.push(...read(page));
            if (page.nextCursor == null) break;
            cursor = page.nextCursor;
            harness.play(later.shift() ?? []);
          }
          expect(shown.filter(({ id }) => !touched.has(id))).toEqual(expected);
        },
      ),
    );
  });

  it('keeps an encoded list of all live machines', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const harness = new Harness();
        for (const changes of history) {
          harness.play(changes);
          const live = naiveList([...harness.machines.values()], { filters: {} });
          expect(wholeList(harness.table)).toEqual({ instances: live });
        }
      }),
    );
  });

  it('has the same digest for the same content in any order, and another for other content', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (history, facts) => {
        const [harness, other] = [new Harness(), new MachineTable()];
        for (const changes of history) harness.play(changes);
        for (const record of [...harness.machines.values()].toReversed()) {
          const mode = record.location.region === 'mock-region' ? 'test' : 'live';
          other.apply([[record.id as NodeId, { mode, record }]]);
        }
        expect(other.digest).toBe(harness.table.digest);
        other.apply([[nodeId(999), machine(nodeId(999), facts)]]);
        expect(other.digest).not.toBe(harness.table.digest);
      }),
    );
  });

  it('normalises a requested model once for any number of models', () => {
    const harness = new Harness();
    const sample = fc.sample(anyFacts, { numRuns: 30, seed: 1 });
    harness.play(sample.map((facts, number) => ({ number, facts: { ...facts, isTest: false, total: 1 } })));
    let spelled = 0;
    const long = {
      toString: () => {
        spelled += 1;
        return 'h100';
      },
    } as unknown as string;
    expect(harness.table.select({ filters: { gpu_model: { in: [long] } } }).runs).not.toEqual([]);
    expect(spelled).toBe(1);
  });

  it('rejects a cursor of another order and invalid cursors', () => {
    const harness = new Harness();
    const [facts] = fc.sample(anyFacts, 1);
    if (facts === undefined) throw new Error('The sample is empty.');
    harness.play([1, 2, 3].map((number) => ({ number, facts: { ...facts, isTest: false } })));
    const byPrice = { filters: {}, sort: [{ field: 'max_price', dir: 'asc' }], limit: 1 } as const;
    const { nextCursor } = harness.table.select({ ...byPrice, sort: [...byPrice.sort] });
    expect(nextCursor).toEqual(expect.any(String));
    expect(() => harness.table.select({ filters: {}, limit: 1, cursor: nextCursor })).toThrow('cursor');
    for (const cursor of ['x', Buffer.from('{"order":"","at":"[","id":"a"}').toString('base64url')]) {
      expect(() => harness.table.select({ filters: {}, limit: 1, cursor }), cursor).toThrow('cursor');
    }
  });
});
