import { isFault } from '@millrace/platform/fault';
import { describe, expect, it } from 'vitest';
import { requireIdleRule } from './idle-rule.ts';

const reasonOf = (work: () => void): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    return isFault(error) ? error.reason : 'not a fault';
  }
};

describe('requireIdleRule', () => {
  it('accepts virtual machines and instances whose driver reports GPU utilisation', () => {
    expect(reasonOf(() => requireIdleRule({ kind: 'virtual-machine' }, true))).toBeNull();
    expect(reasonOf(() => requireIdleRule({ kind: 'instance' }, true))).toBeNull();
  });

  it('rejects machines whose driver does not report GPU utilisation', () => {
    const reason = 'IDLE_RULE_NOT_SUPPORTED';
    expect(reasonOf(() => requireIdleRule({ kind: 'virtual-machine' }, false))).toBe(reason);
    expect(reasonOf(() => requireIdleRule({ kind: 'instance' }, false))).toBe(reason);
  });

  it('rejects bare metal, also in test mode, where the driver would report it', () => {
    expect(reasonOf(() => requireIdleRule({ kind: 'bare-metal' }, true))).toBe('IDLE_RULE_NOT_SUPPORTED');
  });
});
