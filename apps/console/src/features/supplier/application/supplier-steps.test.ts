import { describe, expect, it } from 'vitest';
import { isListed, supplierSteps, type SupplierState } from './supplier-steps.ts';

const at = '2026-08-01T12:00:00.000Z';
const account = { status: 'applied', statusReason: null, appliedAt: at, approvedAt: null } as const;
const approved = { ...account, status: 'approved', approvedAt: at } as const;
const enrolment = {
  stage: 'testing',
  name: 'host-1',
  problem: null,
  joinedAt: at,
  enrolledAt: null,
} as const;
const machine = {
  shown: false,
  name: 'host-1',
  notShownBecause: 'The machine has no price.',
  approval: 'pending',
} as const;
const statuses = (state: Partial<SupplierState>) =>
  supplierSteps({ account: null, enrolments: [], machines: [], ...state }).map(({ status }) => status);

describe('supplierSteps', () => {
  it.each([
    ['before the application', {}, ['now', 'next', 'next', 'next', 'next']],
    ['after the application', { account }, ['done', 'now', 'next', 'next', 'next']],
    [
      'after a rejection',
      { account: { ...account, status: 'rejected', statusReason: 'too small' } },
      ['now', 'failed', 'next', 'next', 'next'],
    ],
    ['after the approval', { account: approved }, ['done', 'done', 'now', 'next', 'next']],
    [
      'while a machine is tested',
      { account: approved, enrolments: [enrolment] },
      ['done', 'done', 'done', 'now', 'next'],
    ],
    [
      'after a machine was refused',
      { account: approved, enrolments: [{ ...enrolment, stage: 'refused', problem: 'no GPU' }] },
      ['done', 'done', 'now', 'failed', 'next'],
    ],
    [
      'with a checked machine',
      {
        account: approved,
        enrolments: [{ ...enrolment, stage: 'enrolled', enrolledAt: at }],
        machines: [machine],
      },
      ['done', 'done', 'done', 'done', 'now'],
    ],
  ] satisfies [string, Partial<SupplierState>, string[]][])('%s', (_, state, expected) => {
    expect(statuses(state)).toEqual(expected);
  });

  it('says why the operator rejected, and why a machine is not listed', () => {
    const rejected = { ...account, status: 'rejected', statusReason: 'too small' } as const;
    const steps = supplierSteps({ account: rejected, enrolments: [], machines: [machine] });
    expect(steps[1]?.about).toContain('too small');
    expect(steps[4]?.about).toBe('host-1: The machine has no price.');
  });

  it('is complete when a machine can be rented', () => {
    const enrolled = { ...enrolment, stage: 'enrolled', enrolledAt: at } as const;
    const state = { account: approved, enrolments: [enrolled], machines: [{ ...machine, shown: true }] };
    expect(isListed(supplierSteps(state))).toBe(true);
  });
});
