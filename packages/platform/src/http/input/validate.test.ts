import { contract } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { isFault } from '../../fault/index.ts';
import { validateInput } from './validate.ts';

function errorOf(body: unknown): { reason: string; suggestion: string } | null {
  try {
    validateInput(contract.operations.createMarketplaceInstance, { params: {}, query: {}, body });
    return null;
  } catch (error) {
    if (!isFault(error)) throw error;
    return { reason: error.reason, suggestion: error.suggestion };
  }
}

const whole = { cluster_name: 'c1', node_name: 'n1', gpu_count: 1 };

describe('validateInput for the body of another operation', () => {
  it('throws the reason that names the right path', () => {
    const error = errorOf({ id: 'actual-bonsai-frog' });
    expect(error?.reason).toBe('WRONG_MARKETPLACE_PATH');
    expect(error?.suggestion).toContain('POST /v1/marketplace/instances/terminate');
  });

  it('throws VALIDATION_FAILED for other invalid bodies and accepts valid ones', () => {
    expect(errorOf({ id: 'actual-bonsai-frog', gpu_count: 1 })?.reason).toBe('VALIDATION_FAILED');
    expect(errorOf({})?.reason).toBe('VALIDATION_FAILED');
    expect(errorOf([])?.reason).toBe('VALIDATION_FAILED');
    expect(errorOf({ ...whole, id: 'actual-bonsai-frog' })).toBeNull();
  });
});

describe('validateInput for a body with unknown fields', () => {
  it('lists them in the fault, so that a misspelt field is visible', () => {
    const body = { cluster_name: 'c1', node: 'n1', gpu_count: 1, constructor: 1 };
    const refuse = () =>
      validateInput(contract.operations.createMarketplaceInstance, { params: {}, query: {}, body });
    expect(refuse).toThrow(
      expect.objectContaining({
        reason: 'VALIDATION_FAILED',
        extra: { ignoredFields: ['node', 'constructor'] },
      }),
    );
  });
});
