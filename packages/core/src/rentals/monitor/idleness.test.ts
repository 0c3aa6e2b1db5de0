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

/** Counters of a machine since it was switched on. */
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

describe('updateIdleness', () => {
  it('counts from the first sample while no machine does anything', () => {
    const rounds = [0, 30, 60, 90].map((at) => [sample(at), sample(at, { position: 2 })]);
    expect(after(...rounds)).toMatchObject({ idleSince: second(0), sampledAt: second(90) });
  });

  it.each<[what: string, fields: Partial<Sample>]>([
    ['a tenth of a core', { cpuSeconds: 3 }],
    ['the network in', { networkInBytes: 300_000 }],
    ['the network out', { networkOutBytes: 300_000 }],
    ['network in both directions', { networkInBytes: 150_000, networkOutBytes: 150_000 }],
    ['a GPU', { gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: 5 }] }],
  ])('restarts when a machine uses %s', (_what, fields) => {
    const rounds = [
      [sample(0), sample(0, { position: 2 })],
      [sample(30), sample(30, { position: 2, ...fields })],
    ];
    expect(after(...rounds).idleSince).toEqual(second(30));
  });

  it.each<[what: string, fields: Partial<Sample>]>([
    ['a little of a core', { cpuSeconds: 2.9 }],
    ['a little of the network', { networkInBytes: 299_000 }],
    ['a GPU that only drives a display', { gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: 4 }] }],
  ])('continues although the machine uses %s', (_what, fields) => {
    expect(after([sample(0)], [sample(30, fields)]).idleSince).toEqual(second(0));
  });

  it.each<[what: string, rounds: readonly (readonly Sample[])[]]>([
    ['after a gap between samples', [[sample(0)], [sample(121)]]],
    ['after the machine was restarted', [[sample(0, { cpuSeconds: 9 })], [sample(30, { cpuSeconds: 1 })]]],
    ['after the rental got other machines', [[sample(0)], [sample(30, { attempt: 2 })]]],
    ['if the engine does not report CPU time', [[sample(0)], [sample(30, { cpuSeconds: null })]]],
    ['if the engine reports no GPUs', [[sample(0)], [sample(30, { gpus: null })]]],
    [
      'if the engine does not report the utilisation of a GPU',
      [[sample(0)], [sample(30, { gpus: [{ pciAddress: '0000:10:00.0', utilisationPercent: null }] })]],
    ],
    ['if the engine does not report network traffic', [[sample(0)], [sample(30, { networkInBytes: null })]]],
  ])('restarts %s', (_what, rounds) => {
    const seen = after(...rounds);
    expect(seen.idleSince).toEqual(seen.sampledAt);
  });

  it('isIdleLongEnough counts up to the last sample, not up to now', () => {
    const rule = { afterSeconds: 300, action: 'stop' } as const;
    const rounds = (until: number) => Array.from({ length: until + 1 }, (_, round) => [sample(30 * round)]);
    expect(isIdleLongEnough(after(...rounds(9)), rule)).toBe(false);
    expect(isIdleLongEnough(after(...rounds(10)), rule)).toBe(true);
  });

  it('never counts time before the first sample, for any samples', () => {
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

describe('sample partitions', () => {
  it('exist for each retained day, today and tomorrow, without overlap', () => {
    const days = Array.from({ length: SAMPLE_PARTITIONS }, (_, day) =>
      samplePartitionOf(second((day - 7) * DAY_SECONDS)),
    );
    expect(new Set(days).size).toBe(SAMPLE_PARTITIONS);
  });

  it('are read for the requested period, as far as it is retained', () => {
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

  it('expire as whole days', () => {
    expect(samplesExpireBefore(second(12 * 3_600))).toEqual(second(-7 * DAY_SECONDS));
  });
});
