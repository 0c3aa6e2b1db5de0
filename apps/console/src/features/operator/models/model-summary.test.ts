import { percentOf } from '@millrace/sdk/text';
import { describe, expect, it } from 'vitest';
import { modelHealth } from '../common/model-health.ts';
import { modelAvailability, parseNames, parseOptionalInteger, requestShareText } from './model-summary.ts';

const up = { enabled: true, health: 'healthy', weight: 100 } as const;
const down = { enabled: true, health: 'down', weight: 100 } as const;
const off = { enabled: false, health: 'healthy', weight: 100 } as const;

describe('modelHealth and requestShareText', () => {
  it.each([
    [[], 'bad', 'no deployment'],
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

describe('modelAvailability', () => {
  const chat = { enabled: true, mode: 'live', modality: 'chat' } as const;
  it.each([
    [chat, [up], ['price'], 'yes'],
    [chat, [up], [], 'no: set a price'],
    [chat, [], ['price'], 'no: register an engine'],
    [chat, [], [], 'no: register an engine and set a price'],
    [chat, [down], ['price'], 'no: 0 of 1 healthy'],
    [{ ...chat, modality: 'image' as const }, [up], [], 'yes'],
    [{ ...chat, mode: 'test' as const }, [], [], 'with test keys'],
    [{ ...chat, enabled: false }, [up], ['price'], 'retired'],
  ] as const)('%j', (model, deployments, prices, words) => {
    expect(modelAvailability(model, deployments, prices).words).toBe(words);
  });
});

describe('parseNames and parseOptionalInteger', () => {
  it('split names and accept empty numbers', () => {
    expect(parseNames(' a, b\nc ,, ')).toEqual(['a', 'b', 'c']);
    expect(parseOptionalInteger(' ')).toBeNull();
    expect(parseOptionalInteger('4096')).toBe(4096);
  });
});
