import { percentOf } from '@millrace/sdk/text';
import { describe, expect, it } from 'vitest';
import { modelHealth, parseNames, parseOptionalInteger, requestShareText } from './model-summary.ts';

const up = { enabled: true, health: 'healthy', weight: 100 } as const;
const down = { enabled: true, health: 'down', weight: 100 } as const;
const off = { enabled: false, health: 'healthy', weight: 100 } as const;

describe('modelHealth and requestShareText', () => {
  it.each([
    [[], 'bad', 'nowhere'],
    [[off], 'bad', 'all deployments are off'],
    [[{ ...up, weight: 0 }], 'bad', 'all deployments are off'],
    [[up, up], 'good', '2 of 2 healthy'],
    [[up, down, off], 'warn', '1 of 2 healthy'],
    [[down], 'bad', '0 of 1 healthy'],
    [[{ ...up, health: 'unknown' as const }], 'warn', '0 of 1 healthy'],
  ] as const)('%j', (deployments, tone, words) => {
    expect(modelHealth(deployments)).toEqual({ tone, words });
  });

  it('share requests by weight among enabled deployments', () => {
    const quarter = { enabled: true, weight: 100 };
    const rest = { enabled: true, weight: 300 };
    expect(requestShareText(quarter, [quarter, rest, off], percentOf)).toBe('about 25 %');
    expect(requestShareText(off, [quarter, off], percentOf)).toBe('off');
    expect(requestShareText({ enabled: true, weight: 0 }, [{ enabled: true, weight: 0 }], percentOf)).toBe(
      '0 %',
    );
  });
});

describe('parseNames and parseOptionalInteger', () => {
  it('split names and accept empty numbers', () => {
    expect(parseNames(' a, b\nc ,, ')).toEqual(['a', 'b', 'c']);
    expect(parseOptionalInteger(' ')).toBeNull();
    expect(parseOptionalInteger('4096')).toBe(4096);
  });
});
