import type { ComputeDriver } from '../driver.ts';
import { IronicDriver } from './ironic.driver.ts';
import type { IronicDriverOptions } from './ironic-settings.ts';

export { readIronicSettings, type IronicDriverOptions, type IronicImage } from './ironic-settings.ts';
export type { IronicConnectionOptions, IronicCredential } from './ironic-client.ts';

/** A driver for the nodes of one Ironic. It sends nothing before the first call. */
export function createIronicDriver(options: IronicDriverOptions): ComputeDriver {
  return new IronicDriver(options);
}
