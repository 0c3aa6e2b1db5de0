import { describe, expect, it } from 'vitest';
import { maintenanceWindowIssue } from './maintenance-window-issue.ts';

describe('maintenanceWindowIssue', () => {
  const [startsAt, endsAt] = ['2026-08-01T12:00:00.000Z', '2026-08-01T14:00:00.000Z'];
  it('requires a start before the end, and a summary', () => {
    expect(maintenanceWindowIssue({ startsAt, endsAt, summary: 'fans' })).toBe(false);
    expect(maintenanceWindowIssue({ startsAt: null, endsAt, summary: 'fans' })).toContain('when');
    expect(maintenanceWindowIssue({ startsAt, endsAt: undefined, summary: 'fans' })).toContain('when');
    expect(maintenanceWindowIssue({ startsAt: endsAt, endsAt: startsAt, summary: 'fans' })).toContain(
      'after',
    );
    expect(maintenanceWindowIssue({ startsAt, endsAt: startsAt, summary: 'fans' })).toContain('after');
    expect(maintenanceWindowIssue({ startsAt, endsAt, summary: '  a ' })).toContain('tenants');
  });
});
