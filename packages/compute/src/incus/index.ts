import type { ComputeDriver } from '../driver.ts';
import { IncusDriver } from './incus.driver.ts';
import type { IncusDriverOptions } from './incus-settings.ts';

export { readIncusSettings, type IncusConfig } from './incus-config.ts';
export { openIncusTrust, type GrantedProject, type IncusTrust, type TrustLimits } from './api/incus-trust.ts';
export type { IncusDriverOptions, InstanceType } from './incus-settings.ts';
export type { IncusConnectionOptions } from './api/incus-transport.ts';

/** A driver for an Incus cluster or a standalone daemon. It sends nothing before the first call. */
export function createIncusDriver(options: IncusDriverOptions): ComputeDriver {
  return new IncusDriver(options);
}
