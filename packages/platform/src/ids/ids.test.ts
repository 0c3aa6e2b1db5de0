import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import {
  cellOf,
  createIdSource,
  fromUuid,
  idKinds,
  maxCell,
  parseId,
  timeOf,
  toUuid,
  type IdKind,
} from './index.ts';

const startMs = Date.UTC(2026, 5, 1);
const someKind = fc.constantFrom<IdKind[]>(...idKinds);
const someCell = fc.integer({ min: 0, max: maxCell });

/** All inputs of an id source: time that advances, stops or steps back, and any random bytes. */
const someHistory = fc.record({
  cell: someCell,
  steps: fc.array(fc.integer({ min: -5_000, max: 5_000 }), { minLength: 1, maxLength: 60 }),
  byte: fc.integer({ min: 0, max: 255 }),
});

function idsOf({ cell, steps, byte }: { cell: number; steps: number[]; byte: number }): string[] {
  const clock = new SimulatedClock(startMs);
  const ids = createIdSource({ clock, cell, random: (bytes) => void bytes.fill(byte) });
  return steps.map((step) => {
    clock.stepWallClock(step);
    return ids.next('evt');
  });
}

describe('createIdSource', () => {
  it('creates increasing ids, as text and as UUID, even if the clock steps back', () => {
    fc.assert(
      fc.property(someHistory, (history) => {
        const made = idsOf(history);
        const uuids = made.map((id) => toUuid(parseId('evt', id) ?? expect.fail(id)));
        expect(made.toSorted()).toEqual(made);
        expect(uuids.toSorted()).toEqual(uuids);
        expect(new Set(made).size).toBe(made.length);
      }),
    );
  });

  it('keeps the order beyond the 4096 ids that one millisecond can count', () => {
    const ids = createIdSource({
      clock: new SimulatedClock(startMs),
      cell: 3,
      random: (bytes) => void bytes.fill(255),
    });
    const made = Array.from({ length: 10_000 }, () => ids.next('req'));
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });

  it('creates a hundred thousand unique ids of one instant in two processes', () => {
    const clock = new SimulatedClock(startMs);
    const sources = [createIdSource({ clock, cell: 1 }), createIdSource({ clock, cell: 1 })];
    const made = new Set(sources.flatMap((ids) => Array.from({ length: 50_000 }, () => ids.nextUuid())));
    expect(made.size).toBe(100_000);
  });

  it('puts its cell and its time into every id', () => {
    fc.assert(
      fc.property(someCell, someKind, (cell, kind) => {
        const id = createIdSource({ clock: new SimulatedClock(startMs), cell }).next(kind);
        expect([cellOf(id), timeOf(id)]).toEqual([cell, startMs]);
      }),
    );
  });

  it('creates UUIDs of version 7 in the standard variant', () => {
    const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: maxCell });
    expect(ids.nextUuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('refuses a cell that is out of range', () => {
    const clock = new SimulatedClock(startMs);
    for (const cell of [-1, 1_024, 1.5, Number.NaN]) {
      expect(() => createIdSource({ clock, cell })).toThrow(RangeError);
    }
  });
});

describe('parseId and fromUuid', () => {
  const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: 7 });

  it('parseId accepts the prefix, an underscore and 26 symbols, and the id survives conversion to a UUID and back', () => {
    fc.assert(
      fc.property(someKind, (kind) => {
        const id = ids.next(kind);
        expect(id).toMatch(new RegExp(`^${kind}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`));
        expect(parseId(kind, id)).toBe(id);
        expect(fromUuid(kind, toUuid(id))).toBe(id);
      }),
    );
  });

  it('parseId accepts only one spelling: other cases, look-alike letters, lengths and kinds are refused', () => {
    const id = ids.next('org');
    const body = id.slice(4);
    const refused = [
      id.toLowerCase(),
      `org_${body.toLowerCase()}`,
      `ORG_${body}`,
      `usr_${body}`,
      `org${body}`,
      body,
      `${id}0`,
      id.slice(0, -1),
      ` ${id}`,
      `${id}\n`,
      `org_${body.slice(0, -1)}I`,
      `org_${body.slice(0, -1)}O`,
      `org_${body.slice(0, -1)}U`,
      `org_8${body.slice(1)}`,
      `org_${'0'.repeat(26)}`,
      `org_${'7ZZZZZZZZZZZZZZZZZZZZZZZZZ'}`,
      `org_${toUuid(id)}`,
      '',
    ];
    expect(refused.filter((text) => parseId('org', text) !== null)).toEqual([]);
  });

  it('parseId returns null for arbitrary text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (text) => {
        expect(parseId('key', text)).toBeNull();
        expect(parseId('key', `key_${text}`)).toBeNull();
      }),
    );
  });

  it('fromUuid throws for a UUID of another version or spelling', () => {
    const uuid = ids.nextUuid();
    for (const wrong of [
      uuid.toUpperCase(),
      uuid.replaceAll('-', ''),
      '00000000-0000-4000-8000-000000000000',
      '',
    ]) {
      expect(() => fromUuid('org', wrong)).toThrow(TypeError);
    }
  });
});
