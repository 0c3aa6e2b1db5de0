import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  quarantinePolicy,
  differenceFromTested,
  decideQuarantine,
  type QuarantineEvidence,
  type HostFault,
} from './quarantine-decision.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_800_000_000_000;
const ago = (hours: number): Date => new Date(NOW_MS - hours * HOUR_MS);
const failed = (hours: number): HostFault => ({ kind: 'start', at: ago(hours), reason: `failed ${hours}` });
const lost = (hours: number): HostFault => ({ kind: 'loss', at: ago(hours), reason: `lost ${hours}` });

function evidence(fields: Partial<QuarantineEvidence> = {}): QuarantineEvidence {
  return {
    now: ago(0),
    inServiceSince: ago(1_000),
    faults: [],
    lastStartAt: null,
    outages: [],
    difference: null,
    ...fields,
  };
}

describe('decideQuarantine', () => {
  it('quarantines after three consecutive failed starts and quotes the last', () => {
    expect(decideQuarantine(evidence({ faults: [failed(2), failed(1)] }))).toBeNull();
    expect(decideQuarantine(evidence({ faults: [failed(1), failed(3), failed(2)] }))).toEqual({
      cause: 'failed_starts',
      reason: '3 machines in a row failed to start. The last: failed 1',
    });
  });

  it('ignores failed starts before a successful one or older than a day', () => {
    const faults = [failed(3), failed(2), failed(1)];
    expect(decideQuarantine(evidence({ faults, lastStartAt: ago(2.5) }))).toBeNull();
    expect(decideQuarantine(evidence({ faults: [failed(25), failed(2), failed(1)] }))).toBeNull();
  });

  it('quarantines after two losses within a week, even if other machines started since', () => {
    expect(decideQuarantine(evidence({ faults: [lost(1)] }))).toBeNull();
    expect(decideQuarantine(evidence({ faults: [lost(100), lost(1)], lastStartAt: ago(0.5) }))?.cause).toBe(
      'losses',
    );
    expect(decideQuarantine(evidence({ faults: [lost(169), lost(1)] }))).toBeNull();
  });

  it('quarantines after six outages within a day', () => {
    const outages = [1, 2, 3, 4, 5].map(ago);
    expect(decideQuarantine(evidence({ outages }))).toBeNull();
    expect(decideQuarantine(evidence({ outages: [...outages, ago(6)] }))?.cause).toBe('outages');
    expect(decideQuarantine(evidence({ outages: [...outages, ago(25)] }))).toBeNull();
  });

  it('quarantines when the hardware differs from the tested hardware', () => {
    expect(decideQuarantine(evidence({ difference: '7 threads instead of 8' }))).toEqual({
      cause: 'hardware',
      reason: 'The hardware differs from the tested hardware: 7 threads instead of 8.',
    });
  });
});

const hours = fc.double({ min: 0.001, max: 400, noNaN: true });
const anyEvidence = fc
  .record({
    faults: fc.array(
      fc.tuple(hours, fc.boolean()).map(([since, isLost]) => (isLost ? lost(since) : failed(since))),
      { maxLength: 10 },
    ),
    lastStartAt: fc.option(hours.map(ago)),
    outages: fc.array(hours.map(ago), { maxLength: 10 }),
    inServiceSince: hours.map(ago),
  })
  .map(evidence);

describe('decideQuarantine for any evidence', () => {
  it('does not depend on the order of the evidence', () => {
    fc.assert(
      fc.property(anyEvidence, (all) => {
        const turned = { ...all, faults: all.faults.toReversed(), outages: all.outages.toReversed() };
        expect(decideQuarantine(turned)?.cause).toBe(decideQuarantine(all)?.cause);
      }),
    );
  });

  it('ignores evidence from before an operator resumed the machine', () => {
    fc.assert(
      fc.property(anyEvidence, (all) => {
        expect(decideQuarantine({ ...all, inServiceSince: all.now })).toBeNull();
        const isCounted = (at: Date): boolean => at > all.inServiceSince;
        const later = {
          ...all,
          faults: all.faults.filter((fault) => isCounted(fault.at)),
          outages: all.outages.filter(isCounted),
        };
        expect(decideQuarantine(later)).toEqual(decideQuarantine(all));
      }),
    );
  });

  it('is never revoked by an additional fault', () => {
    fc.assert(
      fc.property(anyEvidence, hours, fc.boolean(), (all, since, isLost) => {
        const one = isLost ? lost(since) : failed(since);
        const more = { ...all, faults: [...all.faults, one] };
        if (decideQuarantine(all) !== null) expect(decideQuarantine(more)).not.toBeNull();
      }),
    );
  });

  it('needs more than one fault', () => {
    const { failedStarts, losses, outages } = quarantinePolicy;
    expect(Math.min(failedStarts, losses, outages)).toBeGreaterThan(1);
  });
});

describe('differenceFromTested', () => {
  const gpus = [
    { pciAddress: '0000:01:00.0', model: 'NVIDIA H100' },
    { pciAddress: '0000:02:00.0', model: 'NVIDIA H100' },
  ];
  const tested = { gpus, cpuCount: 64, ramMb: 100_000 };

  it('ignores small differences of memory and missing GPUs', () => {
    expect(differenceFromTested(tested, { ...tested, ramMb: 96_000 })).toBeNull();
    expect(differenceFromTested(tested, { ...tested, gpus: gpus.slice(1) })).toBeNull();
    expect(differenceFromTested(tested, { gpus: [], cpuCount: null, ramMb: null })).toBeNull();
  });

  it.each([
    ['a GPU of another model', { gpus: [{ pciAddress: '0000:01:00.0', model: 'NVIDIA GT 710' }] }, 'GT 710'],
    [
      'an additional GPU',
      { gpus: [...gpus, { pciAddress: '0000:03:00.0', model: 'NVIDIA H100' }] },
      '0000:03',
    ],
    ['fewer threads', { cpuCount: 8 }, '8 threads instead of 64'],
    ['less memory', { ramMb: 50_000 }, '50000 MB of memory instead of 100000 MB'],
    ['more memory', { ramMb: 200_000 }, '200000 MB'],
  ])('reports %s', (_, change, words) => {
    expect(differenceFromTested(tested, { ...tested, ...change })).toContain(words);
  });
});
