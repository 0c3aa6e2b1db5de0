import { describe, expect, it } from 'vitest';
import { windowLack } from './windows.ts';

describe('maintenance to announce', () => {
  const [startsAt, endsAt] = ['2026-08-01T12:00:00.000Z', '2026-08-01T14:00:00.000Z'];
  it('needs both moments in their order and words for tenants', () => {
    expect(windowLack({ startsAt, endsAt, summary: 'fans' })).toBe(false);
    expect(windowLack({ startsAt: null, endsAt, summary: 'fans' })).toContain('when');
    expect(windowLack({ startsAt, endsAt: undefined, summary: 'fans' })).toContain('when');
    expect(windowLack({ startsAt: endsAt, endsAt: startsAt, summary: 'fans' })).toContain('after');
    expect(windowLack({ startsAt, endsAt: startsAt, summary: 'fans' })).toContain('after');
    expect(windowLack({ startsAt, endsAt, summary: '  a ' })).toContain('tenants');
  });
});
