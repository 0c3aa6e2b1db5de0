import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { batchOf, firstRequestOf, publicCause, storedCauseId } from './inference-batches.ts';

describe('cause of an inference ledger line', () => {
  const request = testIds.next('req');
  const batch = batchOf(request);

  it('is shown as a batch that leads back to the first request', () => {
    expect(batch).toMatch(/^bat_/);
    expect(firstRequestOf(batch)).toBe(request);
    expect(publicCause({ kind: 'inference', id: request })).toEqual({ kind: 'inference', id: batch });
    expect(storedCauseId('inference', batch)).toBe(request);
  });

  it('is unchanged for other kinds', () => {
    expect(publicCause({ kind: 'rental', id: '1042' })).toEqual({ kind: 'rental', id: '1042' });
    expect(publicCause({ kind: 'operator', id: request })).toEqual({ kind: 'operator', id: request });
    expect(storedCauseId('operator', batch)).toBe(batch);
    expect(storedCauseId('inference', 'nonsense')).toBe('nonsense');
  });
});
