import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { contract, operationsOf } from './contract.ts';
import { errorBodyFor, inferenceErrorTypes, v2ErrorBodies } from './error-bodies.ts';
import { docUrlFor, errorCodes, errorRegistry, isReason, reasons, statusFor } from './errors.ts';
import type { ErrorStatus } from './errors.ts';
import { stateTables } from './states.ts';

const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
const sections = page.split(/^## /m).slice(1);
const documented = new Map(sections.map((section) => [section.slice(0, section.indexOf('\n')), section]));

describe('errorRegistry', () => {
  it('has a code, a message and a suggestion for each reason', () => {
    for (const [reason, entry] of Object.entries(errorRegistry)) {
      expect(reason).toMatch(/^[A-Z][A-Z0-9_]+$/);
      expect(entry.code).toBe(errorCodes[entry.status]);
      expect(entry.message.length, reason).toBeGreaterThan(10);
      expect(entry.suggestion, reason).toMatch(/\.$/);
    }
  });

  it('has every reason and status that docs/interface.md promises', () => {
    const promised = [
      ['INSUFFICIENT_BALANCE', 400],
      ['INSUFFICIENT_CAPACITY', 400],
      ['NO_PUBLIC_KEY', 400],
      ['REGION_DISABLED', 400],
      ['CUSTOM_PORTS_NOT_SUPPORTED_FOR_REGION', 400],
      ['RENTAL_NOT_FOUND', 400],
      ['REGION_MISMATCH', 400],
      ['ATTACH_NOT_SUPPORTED', 400],
      ['ALREADY_TERMINATED', 400],
      ['ACTION_IN_PROGRESS', 400],
      ['IDEMPOTENCY_KEY_REUSED', 400],
      ['IDEMPOTENCY_IN_PROGRESS', 503],
      ['DISCOUNT_NOT_ENTITLED', 403],
      ['VALIDATION_FAILED', 400],
      ['RATE_LIMITED', 429],
      ['LEDGER_UNAVAILABLE', 503],
    ] as const;
    for (const [reason, status] of promised) {
      expect(statusFor(reason, contract.operations.createVirtualMachineRental), reason).toBe(status);
    }
  });

  it('maps a reason to the status of each error family', () => {
    const { createChatCompletion, terminateMarketplaceInstance } = contract.operations;
    expect(statusFor('INSUFFICIENT_BALANCE', createChatCompletion)).toBe(402);
    expect(statusFor('VALIDATION_FAILED', createChatCompletion)).toBe(422);
    expect(statusFor('BODY_TOO_LARGE', createChatCompletion)).toBe(413);
    expect(statusFor('MODEL_NOT_FOUND', createChatCompletion)).toBe(404);
    expect(statusFor('INSUFFICIENT_BALANCE', terminateMarketplaceInstance)).toBe(402);
    expect(statusFor('IDEMPOTENCY_KEY_REUSED', terminateMarketplaceInstance)).toBe(400);
    expect(statusFor('IDEMPOTENCY_KEY_REUSED', { source: 'own', errorFamily: 'v2' })).toBe(409);
    expect(statusFor('UNSUPPORTED_MEDIA_TYPE', { source: 'own', errorFamily: 'v2' })).toBe(415);
    expect(statusFor('RENTAL_NOT_FOUND', { source: 'own', errorFamily: 'v2' })).toBe(404);
    expect(statusFor('RENTAL_NOT_FOUND', contract.operations.listBareMetalRentals)).toBe(404);
    expect(statusFor('RENTAL_NOT_FOUND', contract.operations.attachStorageVolume)).toBe(400);
    expect(statusFor('GONE', terminateMarketplaceInstance)).toBe(410);
    expect(statusFor('ROUTE_NOT_FOUND', null)).toBe(404);
  });

  it('never maps a reason to a status that the operation does not declare', () => {
    for (const operation of operationsOf(contract)) {
      // A retired operation responds with 410, which its list does not contain.
      for (const reason of reasons.filter((known) => known !== 'GONE')) {
        expect(operation.errors, `${operation.id} ${reason}`).toContain(statusFor(reason, operation));
      }
    }
  });

  it('marks 429 and 5xx as retryable, and 401, 402 and 403 as not retryable', () => {
    for (const reason of reasons) {
      const { status, retryable } = errorRegistry[reason];
      if (status === 429 || status >= 500) expect(retryable, reason).toBe(true);
      if (status === 401 || status === 402 || status === 403) expect(retryable, reason).toBe(false);
    }
  });

  it('has every reason that a state table refuses an action with', () => {
    for (const table of Object.values(stateTables)) {
      for (const byState of Object.values<Record<string, string>>(table.actions)) {
        for (const result of Object.values(byState)) {
          expect(result === 'allowed' || result === 'repeat' || isReason(result), result).toBe(true);
        }
      }
    }
  });
});

describe('docs/errors.md', () => {
  it('has exactly one section per reason, and no other section', () => {
    expect(sections).toHaveLength(documented.size);
    expect([...documented.keys()].toSorted()).toEqual([...reasons].toSorted());
  });

  it('has statuses, what happened, why and what to do for each reason', () => {
    for (const reason of reasons) {
      const { status, interfaceStatus, inferenceStatus, marketplaceStatus, retryable } =
        errorRegistry[reason];
      const section = documented.get(reason) ?? '';
      const statuses = section
        .match(/^Status .*$/m)?.[0]
        ?.match(/\d{3}/g)
        ?.map(Number);
      const expected = [status, interfaceStatus, inferenceStatus, marketplaceStatus];
      expect(statuses, reason).toEqual(expected.filter((value) => value !== undefined));
      expect(section.includes('. Not retryable.'), reason).toBe(!retryable);
      for (const part of ['What happened', 'Why', 'What to do']) {
        expect(section, reason).toMatch(new RegExp(`^- \\*\\*${part}:\\*\\* \\S.{9,}$`, 'm'));
      }
    }
  });

  it('has the URL that docUrlFor returns', () => {
    expect(docUrlFor('VALIDATION_FAILED')).toBe('/docs/errors#VALIDATION_FAILED');
  });
});

describe('error bodies', () => {
  it('accept the example body of each family', () => {
    const v2 = {
      message: 'Input validation failed',
      code: 'BAD_REQUEST',
      issues: [{ message: 'must be a multiple of 8', path: ['gpuCount'], code: 'not_multiple_of' }],
      reason: 'VALIDATION_FAILED',
      suggestion: 'Use 8, 16, 24, ...',
      requestId: 'req_01JD',
      docUrl: '/docs/errors#VALIDATION_FAILED',
    };
    const inference = {
      object: 'error',
      message: '…',
      type: 'rate_limit_exceeded',
      param: null,
      code: 429,
      error: { message: '…', type: '…', param: null, code: 'rate_limit_exceeded' },
      request_id: '…',
    };
    const marketplace = { error_code: 402, message: '…', reason: 'INSUFFICIENT_BALANCE' };
    expect(errorBodyFor('v2', 400).safeParse(v2).success).toBe(true);
    expect(errorBodyFor('v2', 404).safeParse(v2).success).toBe(false);
    expect(errorBodyFor('v2', 400).safeParse({ ...v2, reason: 'MADE_UP' }).success).toBe(false);
    expect(errorBodyFor('inference', 429).safeParse(inference).success).toBe(true);
    expect(errorBodyFor('inference', 429).safeParse({ ...inference, error: undefined }).success).toBe(false);
    expect(errorBodyFor('marketplace', 402).safeParse(marketplace).success).toBe(true);
  });

  it('exist for every status that any operation declares', () => {
    for (const { id, errors, errorFamily } of operationsOf(contract)) {
      for (const status of errors) {
        expect(Object.hasOwn(errorCodes, status), `${id} ${status}`).toBe(true);
        expect(errorBodyFor(errorFamily, status as ErrorStatus), `${id} ${status}`).toBeDefined();
      }
    }
    expect(Object.keys(v2ErrorBodies).toSorted()).toEqual(Object.values(errorCodes).toSorted());
    expect(inferenceErrorTypes[429]).toBe('rate_limit_exceeded');
  });
});
