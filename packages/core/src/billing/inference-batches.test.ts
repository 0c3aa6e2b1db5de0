import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { batchOf, firstRequestOf, publicCause, storedCauseId } from './inference-batches.ts';

describe('the cause of an inference line', () => {
  const request = testIds.next('req');
  const batch = batchOf(request);

  it('is shown as a batch, and the batch is found again', () => {
    expect(batch).toMatch(/^bat_/);
    expect(firstRequestOf(batch)).toBe(request);
    expect(publicCause({ kind: 'inference', id: request })).toEqual({ kind: 'inference', id: batch });
    expect(storedCauseId('inference', batch)).toBe(request);
  });

  it('changes nothing for other causes', () => {
    expect(publicCause({ kind: 'rental', id: '1042' })).toEqual({ kind: 'rental', id: '1042' });
    expect(publicCause({ kind: 'operator', id: request })).toEqual({ kind: 'operator', id: request });
    expect(storedCauseId('operator', batch)).toBe(batch);
    expect(storedCauseId('inference', 'nonsense')).toBe('nonsense');
  });
});
