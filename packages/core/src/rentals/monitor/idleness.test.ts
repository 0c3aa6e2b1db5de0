import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultMonitoring as policy,
  samplesExpireBefore,
  isIdleLongEnough,
  updateIdleness,
  SAMPLE_PARTITIONS,
  samplePartitionOf,
  samplePartitionsOf,
  type Idleness,
  type Sample,
} from './idleness.ts';

const START_MS = Date.UTC(2026, 0, 1);
const second = (seconds: number): Date => new Date(START_MS + seconds * 1_000);
const DAY_SECONDS = 86_400;

/** A machine that has done what is said since it was switched on. */
function sample(seconds: number, fields: Partial<Sample> = {}): Sample {
  return {
    attempt: 1,
    position: 1,
    at: second(seconds),
    cpuSeconds: 0,
    ramUsedBytes: 1,
    diskUsedBytes: 1,
    networkInBytes: 0,
    networkOutBytes: 0,
    gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: 0 }],
    ...fields,
  };
}

function after(...rounds: readonly (readonly Sample[])[]): Idleness {
  const seen = rounds.reduce<Idleness | null>(
    (before, samples) => updateIdleness(before, samples, policy),
    null,
  );
  return seen ?? expect.fail('no round');
}

describe('a rental idles', () => {
  it('from the first sample on for as long as none of its machines does anything', () => {
    const rounds = [0, 30, 60, 90].map((at) => [sample(at), sample(at, { position: 2 })]);
    expect(after(...rounds)).toMatchObject({ idleSince: second(0), sampledAt: second(90) });
  });

  it.each<[what: string, fields: Partial<Sample>]>([
    ['a tenth of a core', { cpuSeconds: 3 }],
    ['the network in', { networkInBytes: 300_000 }],
    ['the network out', { networkOutBytes: 300_000 }],
    ['both together', { networkInBytes: 150_000, networkOutBytes: 150_000 }],
    ['a GPU', { gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: 5 }] }],
  ])('no longer once one of them uses %s', (_what, fields) => {
    const rounds = [
      [sample(0), sample(0, { position: 2 })],
      [sample(30), sample(30, { position: 2, ...fields })],
    ];
    expect(after(...rounds).idleSince).toEqual(second(30));
  });

  it.each<[what: string, fields: Partial<Sample>]>([
    ['a little of a core', { cpuSeconds: 2.9 }],
    ['a little of the network', { networkInBytes: 299_000 }],
    ['a GPU that only shows a picture', { gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: 4 }] }],
  ])('although it uses %s', (_what, fields) => {
    expect(after([sample(0)], [sample(30, fields)]).idleSince).toEqual(second(0));
  });

  it.each<[what: string, rounds: readonly (readonly Sample[])[]]>([
    ['what happened in a gap is not known', [[sample(0)], [sample(121)]]],
    ['it was switched on anew', [[sample(0, { cpuSeconds: 9 })], [sample(30, { cpuSeconds: 1 })]]],
    ['it has other machines now', [[sample(0)], [sample(30, { attempt: 2 })]]],
    ['its engine does not measure the processor', [[sample(0)], [sample(30, { cpuSeconds: null })]]],
    ['its engine reports no GPUs', [[sample(0)], [sample(30, { gpus: null })]]],
    [
      'its engine does not report the use of a GPU',
      [[sample(0)], [sample(30, { gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: null }] })]],
    ],
    ['its engine does not measure the network', [[sample(0)], [sample(30, { networkInBytes: null })]]],
  ])('from then on only, where %s', (_what, rounds) => {
    const seen = after(...rounds);
    expect(seen.idleSince).toEqual(seen.sampledAt);
  });

  it('as long as its rule says, counted to what was seen last and never to now', () => {
    const rule = { afterSeconds: 300, action: 'stop' } as const;
    const rounds = (until: number) => Array.from({ length: until + 1 }, (_, round) => [sample(30 * round)]);
    expect(isIdleLongEnough(after(...rounds(9)), rule)).toBe(false);
    expect(isIdleLongEnough(after(...rounds(10)), rule)).toBe(true);
  });

  it('never longer than it was watched, whatever was seen', () => {
    const counted = fc.option(fc.nat(1_000_000), { nil: null });
    const anyRound = fc.record({ passed: fc.nat(400), cpuSeconds: counted, networkInBytes: counted });
    fc.assert(
      fc.property(fc.array(anyRound, { minLength: 1 }), (rounds) => {
        let at = 0;
        const samples = rounds.map(({ passed, ...fields }) => [sample((at += passed), fields)]);
        const { idleSince, sampledAt } = after(...samples);
        expect(idleSince <= sampledAt).toBe(true);
        expect(idleSince >= (samples[0]?.[0]?.at ?? second(0))).toBe(true);
      }),
    );
  });
});

describe('the ring of samples', () => {
  it('has a part for each day that is kept, one for today and one for tomorrow, and no two days share one', () => {
    const days = Array.from({ length: SAMPLE_PARTITIONS }, (_, day) =>
      samplePartitionOf(second((day - 7) * DAY_SECONDS)),
    );
    expect(new Set(days).size).toBe(SAMPLE_PARTITIONS);
  });

  it('is read where the period lies, as far as it is kept', () => {
    const now = second(12 * 3_600);
    expect(samplePartitionsOf(second(0), second(3_600), now)).toEqual([samplePartitionOf(now)]);
    expect(samplePartitionsOf(second(-DAY_SECONDS), now, now)).toEqual([
      samplePartitionOf(second(-DAY_SECONDS)),
      samplePartitionOf(now),
    ]);
    expect(samplePartitionsOf(second(-365 * DAY_SECONDS), second(365 * DAY_SECONDS), now)).toHaveLength(
      SAMPLE_PARTITIONS,
    );
    expect(samplePartitionsOf(second(-365 * DAY_SECONDS), second(-360 * DAY_SECONDS), now)).toEqual([]);
  });

  it('forgets whole days only', () => {
    expect(samplesExpireBefore(second(12 * 3_600))).toEqual(second(-7 * DAY_SECONDS));
  });
});
